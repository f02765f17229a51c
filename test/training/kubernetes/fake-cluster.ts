import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Credentials } from '../../../src/training/kubernetes/load-kubeconfig';
import { selfSigned } from './certificate';

type Meta = {
  name: string;
  uid: string;
  creationTimestamp: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  deletionTimestamp?: string;
  ownerReferences?: { uid: string }[];
};
type PodSpec = { containers: { command: string[]; env: { name: string; value: string }[] }[] } & Record<
  string,
  unknown
>;
export type FakeJob = {
  metadata: Meta;
  spec: { template: { spec: PodSpec } } & Record<string, unknown>;
  status: object;
};
export type FakePod = { metadata: Meta; status: Record<string, unknown>; log: string };

type Trouble = { route: string; status: number; headers?: Record<string, string> } | { route: string; lost: true };

export type FakeCluster = {
  credentials: Credentials;
  jobs: FakeJob[];
  pods: FakePod[];
  /** `POST jobs`, `GET pods` and so on, in order. */
  requests: string[];
  /** Happens to the next request of its route; `lost`: it is done, and the answer never arrives. */
  trouble(next: Trouble): void;
  /** The pod of the newest job, as it is now. */
  pod(status: Record<string, unknown>, log?: string): FakePod;
  /** The newest job comes to its end. */
  end(type: 'Complete' | 'Failed', reason?: string): void;
  /** Pods have ended: what was being deleted is gone. */
  sweep(): void;
  /** Called for every created job, as kubelets are. */
  onCreate(run: (job: FakeJob) => void): void;
  stop(): Promise<void>;
};

export const namespace = 'training';
const token = 'cluster-token';

/**
 * A fake: no cluster, but an API server over real HTTPS that answers the five routes of training as Kubernetes 1.32
 * documents them, with conflicts, preconditions and deletion in the foreground. What controllers, schedulers and
 * kubelets do is done by the test.
 */
export async function startFakeCluster(): Promise<FakeCluster> {
  const { key, certificate } = selfSigned();
  const jobs: FakeJob[] = [];
  const pods: FakePod[] = [];
  const requests: string[] = [];
  const troubles: Trouble[] = [];
  let born = 0;
  let onCreate = (_: FakeJob): void => undefined;
  const newMeta = (meta: Partial<Meta>): Meta => ({
    ...{ name: '', labels: {}, annotations: {}, ...meta, uid: randomUUID() },
    creationTimestamp: new Date(Date.now() + 1000 * born++).toISOString().replace(/\.\d+/, ''),
  });
  const server = createServer({ key, cert: certificate }, (request, response) => {
    void bodyOf(request).then((text) => {
      const url = new URL(request.url ?? '', 'https://localhost');
      const [, kind = '', name = '', log = ''] =
        new RegExp(`^/(?:apis/batch/v1|api/v1)/namespaces/${namespace}/(jobs|pods)/?([^/]*)(/log)?$`).exec(
          url.pathname,
        ) ?? [];
      const route = `${request.method} ${kind}${log}`;
      requests.push(route);
      const at = troubles.findIndex((trouble) => trouble.route === route);
      const [trouble] = at < 0 ? [] : troubles.splice(at, 1);
      if (trouble && 'status' in trouble)
        return send(response, trouble.status, status(trouble.status), trouble.headers);
      if (request.headers.authorization !== `Bearer ${token}`) return send(response, 401, status(401, 'Unauthorized'));
      const [code, body] = answer(route, name, url, text);
      if (trouble) response.destroy();
      else send(response, code, body);
    });
  });

  function answer(route: string, name: string, url: URL, text: string): [number, unknown] {
    const job = jobs.find(({ metadata }) => metadata.name === name);
    switch (route) {
      case 'POST jobs': {
        const { metadata, spec } = JSON.parse(text) as FakeJob;
        if (jobs.some((one) => one.metadata.name === metadata.name))
          return [409, status(409, `jobs.batch "${metadata.name}" already exists`, 'AlreadyExists')];
        const made = { metadata: newMeta(metadata), spec, status: {} };
        jobs.push(made);
        onCreate(made);
        return [201, made];
      }
      case 'GET jobs':
        return job ? [200, job] : [404, status(404, `jobs.batch "${name}" not found`, 'NotFound')];
      case 'DELETE jobs': {
        if (!job) return [404, status(404)];
        const options = JSON.parse(text) as { propagationPolicy: string; preconditions: { uid: string } };
        if (options.preconditions.uid !== job.metadata.uid) return [409, status(409, 'the UID in the precondition')];
        if (options.propagationPolicy === 'Foreground') job.metadata.deletionTimestamp = new Date().toISOString();
        else jobs.splice(jobs.indexOf(job), 1);
        return [200, job];
      }
      case 'GET pods': {
        const [label = '', wanted] = (url.searchParams.get('labelSelector') ?? '').split('=');
        return [200, { kind: 'PodList', items: pods.filter(({ metadata }) => metadata.labels[label] === wanted) }];
      }
      case 'GET pods/log': {
        const pod = pods.find(({ metadata }) => metadata.name === name);
        return pod?.log ? [200, pod.log] : [400, status(400, 'container is waiting to start')];
      }
      default:
        return [404, status(404, `the server could not find ${url.pathname}`)];
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const credentials: Credentials = {
    ...{ server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, namespace, ca: certificate },
    token: () => Promise.resolve(token),
  };
  return {
    ...{ credentials, jobs, pods, requests },
    trouble: (next) => void troubles.push(next),
    pod(podStatus, log = '') {
      const { metadata } = jobs.at(-1)!;
      const { name, labels, uid } = metadata;
      const pod = pods.find((one) => one.metadata.ownerReferences?.[0]?.uid === uid);
      if (pod) return Object.assign(pod, { status: podStatus, log });
      const made = { metadata: newMeta({ name: `${name}-${pods.length}`, labels, ownerReferences: [{ uid }] }) };
      pods.push({ ...made, status: podStatus, log });
      return pods.at(-1)!;
    },
    end(type, reason) {
      jobs.at(-1)!.status = { conditions: [{ type, status: 'True', reason }] };
    },
    sweep() {
      const deleted = jobs.findIndex(({ metadata }) => metadata.deletionTimestamp);
      if (deleted >= 0) jobs.splice(deleted, 1);
    },
    onCreate(run) {
      onCreate = run;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const status = (code: number, message = `status ${code}`, reason = ''): object => ({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code },
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

function send(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
