import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BackendError } from '../backend-error';
import type { Credentials } from './load-kubeconfig';

export type Answer = { status: number; text: string };

export type KubernetesApi = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<Answer>;

const timeoutMs = 30_000;
/** What the callers know what to make of. */
const expected = new Set([200, 201, 202, 404, 409]);

/**
 * The API server over HTTPS, its certificate checked against the cluster's own authority. Nothing is retried: retries
 * are Temporal's.
 *
 * Five routes are all that training needs. The official client, @kubernetes/client-node, is not used: its version 2 wants
 * Node 22, by its undici 8, and version 1 brings another HTTP client and a hundred thousand lines for them.
 *
 * @returns answers of 200 to 202, 404 and 409
 * @throws BackendError for every other answer, and for none
 */
export const kubernetesApi =
  (credentials: Credentials): KubernetesApi =>
  async (method, path, body) => {
    const answer = await send(credentials, method, path, body);
    if (!expected.has(answer.status)) throw errorOf(credentials.server, method, path, answer);
    return answer;
  };

type Received = Answer & { retryAfter: string | undefined };

async function send(
  credentials: Credentials,
  method: string,
  path: string,
  body: object | undefined,
): Promise<Received> {
  const { server, ca, certificate, key } = credentials;
  const token = await credentials.token();
  const text = body && JSON.stringify(body);
  const headers = {
    accept: 'application/json, */*',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {}),
  };
  const tls = { ...(ca ? { ca } : {}), ...(certificate ? { cert: certificate } : {}), ...(key ? { key } : {}) };
  // A connection of its own for each request: one that was kept would now and then be found closed.
  const options = { agent: false, ...tls };
  const open = server.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = open(`${server}${path}`, { method, headers, ...options, signal }, (response) => {
      read(response).then(resolve, fail);
    });
    const fail = (error: Error): void => {
      const { code } = error as { code?: string };
      const hint = /CERT|SIGNED|TLS|ALTNAME/.test(code ?? '') ? ': check the authority in the credentials' : '';
      const message = `no Kubernetes API server answers at ${server} (${code ?? error.message})${hint}`;
      reject(new BackendError(hint ? 'refused' : 'retry', message));
    };
    request.on('error', fail).end(text);
  });
}

async function read(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status = 0, headers } = response;
  return { status, text: Buffer.concat(chunks).toString('utf8'), retryAfter: headers['retry-after'] };
}

function errorOf(server: string, method: string, path: string, { status, text, retryAfter }: Received): BackendError {
  const message = `${server} answered ${status} to ${method} ${path.split('?')[0]}: ${reasonIn(text)}`;
  if (status === 429 || status >= 500) {
    const seconds = Number(retryAfter);
    return new BackendError('retry', message, seconds > 0 ? seconds * 1000 : undefined);
  }
  return new BackendError('refused', `${message}; ${adviceOn(status)}, then \`coevolve resume\` the campaign`);
}

function reasonIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? 'no reason was given';
  } catch {
    return text.slice(0, 300) || 'no reason was given';
  }
}

function adviceOn(status: number): string {
  if (status === 401) return 'check the token or certificate of the credentials';
  if (status === 403)
    return 'let this account get, create and delete jobs, list pods and get pods/log in the namespace (deploy/kubernetes/train-worker-role.yaml)';
  return 'correct the template or the file of COEVOLVE_KUBERNETES_CONFIG';
}
