import { randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
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

type Fault =
  | { route: string; status: number; headers?: Record<string, string> }
  | { route: string; body: string; type?: string }
  | { route: string; lost: true }
  | { route: string; silent: true };

export type FakeCluster = {
  server: string;
  /** The self-signed certificate as PEM. */
  certificate: string;
  /** Folder of the kubeconfigs. */
  folder: string;
  jobs: FakeJob[];
  pods: FakePod[];
  /** `POST jobs`, `GET pods` and so on, in order. */
  requests: string[];
  /** The only token and the only client certificate that the server accepts; tests can change them. */
  accepts: { token: string; certificate?: string };
  /** Writes a kubeconfig with changed entries and returns its path. Its contexts: one (current), two, broken. */
  kubeconfig(changes?: { user?: object; cluster?: object }): string;
  /** Affects the next request of its route. `lost`: it is executed, and the connection is cut before the response. */
  fault(next: Fault): void;
  /** Sets the pod of the newest job. */
  pod(status: Record<string, unknown>, log?: string): FakePod;
  /** Ends the newest job. */
  end(type: 'Complete' | 'Failed', reason?: string): void;
  /** Ends the pods of the job that is being deleted, which removes it. */
  sweep(): void;
  /** Registers the kubelet: it is called for every created job. */
  onCreate(run: (job: FakeJob) => void): void;
  stop(): Promise<void>;
};

export const namespace = 'training';

/**
 * Starts a fake API server over real HTTPS. It serves the five routes of training as Kubernetes 1.32 documents them,
 * with conflicts, preconditions and deletion in the foreground. The test plays controllers, scheduler and kubelets.
 */
export async function startFakeCluster(): Promise<FakeCluster> {
  const { key, certificate } = selfSigned();
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-fake-cluster-'));
  const jobs: FakeJob[] = [];
  const pods: FakePod[] = [];
  const requests: string[] = [];
  const faults: Fault[] = [];
  const accepts: FakeCluster['accepts'] = { token: 'cluster-token' };
  let createdCount = 0;
  let onCreate = (_: FakeJob): void => undefined;
  const newMeta = (meta: Partial<Meta>): Meta => ({
    name: '',
    labels: {},
    annotations: {},
    ...meta,
    uid: randomUUID(),
    creationTimestamp: new Date(Date.now() + 1000 * createdCount++).toISOString().replace(/\.\d+/, ''),
  });
  const tls = { key, cert: certificate, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, (request, response) => {
    void bodyOf(request).then((text) => {
      const url = new URL(request.url ?? '', 'https://localhost');
      const [, kind = '', name = '', log = ''] =
        new RegExp(`^/(?:apis/batch/v1|api/v1)/namespaces/${namespace}/(jobs|pods)/?([^/]*)(/log)?$`).exec(
          url.pathname,
        ) ?? [];
      const route = `${request.method} ${kind}${log}`;
      requests.push(route);
      const index = faults.findIndex((fault) => fault.route === route);
      const [fault] = index < 0 ? [] : faults.splice(index, 1);
      if (fault && 'silent' in fault) return;
      if (fault && 'body' in fault) return send(response, 200, fault.body, { 'content-type': fault.type ?? '' });
      if (fault && 'status' in fault) return send(response, fault.status, status(fault.status), fault.headers);
      if (!isAuthorized(request, accepts)) return send(response, 401, status(401, 'Unauthorized'));
      const [code, body] = respond(route, name, url, text);
      if (fault) response.destroy();
      else send(response, code, body);
    });
  });

  function respond(route: string, name: string, url: URL, text: string): [number, unknown] {
    const job = jobs.find(({ metadata }) => metadata.name === name);
    switch (route) {
      case 'POST jobs': {
        const { metadata, spec } = JSON.parse(text) as FakeJob;
        if (jobs.some((existing) => existing.metadata.name === metadata.name))
          return [409, status(409, `jobs.batch "${metadata.name}" already exists`, 'AlreadyExists')];
        const created = { metadata: newMeta(metadata), spec, status: {} };
        jobs.push(created);
        onCreate(created);
        return [201, created];
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
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    server: address,
    certificate,
    folder,
    jobs,
    pods,
    requests,
    accepts,
    kubeconfig({ user = { token: 'cluster-token' }, cluster = {} } = {}) {
      const authority = { 'certificate-authority-data': Buffer.from(certificate).toString('base64') };
      const contexts = [
        { name: 'one', context: { cluster: 'c', user: 'u', namespace } },
        { name: 'two', context: { cluster: 'c', user: 'u' } },
        { name: 'broken', context: { cluster: 'gone', user: 'u' } },
      ];
      const clusters = [{ name: 'c', cluster: { server: address, ...authority, ...cluster } }];
      const file = path.join(folder, `config-${randomUUID()}`);
      const users = [{ name: 'u', user }];
      writeFileSync(file, JSON.stringify({ 'current-context': 'one', contexts, clusters, users }));
      return file;
    },
    fault: (next) => void faults.push(next),
    pod(podStatus, log = '') {
      const { metadata } = jobs.at(-1)!;
      const { name, labels, uid } = metadata;
      const pod = pods.find((existing) => existing.metadata.ownerReferences?.[0]?.uid === uid);
      if (pod) return Object.assign(pod, { status: podStatus, log });
      const created = { metadata: newMeta({ name: `${name}-${pods.length}`, labels, ownerReferences: [{ uid }] }) };
      pods.push({ ...created, status: podStatus, log });
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
      rmSync(folder, { recursive: true });
    },
  };
}

function isAuthorized(request: IncomingMessage, { token, certificate }: FakeCluster['accepts']): boolean {
  const { fingerprint256 } = (request.socket as TLSSocket).getPeerCertificate();
  return (
    request.headers.authorization === `Bearer ${token}` ||
    (certificate !== undefined && new X509Certificate(certificate).fingerprint256 === fingerprint256)
  );
}

const status = (code: number, message = `status ${code}`, reason = ''): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message,
  reason,
  code,
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** Sends logs as plain text and every object as JSON, as the API server does. */
function send(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  const isText = typeof body === 'string';
  response.writeHead(code, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
