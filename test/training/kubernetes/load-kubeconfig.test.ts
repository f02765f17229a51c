import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createConnection, type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { connectCluster, type ClusterOptions } from '../../../src/training/kubernetes/cluster-api';
import { clusterJobs } from '../../../src/training/kubernetes/cluster-jobs';
import type { KubernetesSettings } from '../../../src/training/kubernetes/kubernetes-settings';
import { selfSigned } from './certificate';
import { namespace, startFakeCluster, type FakeCluster } from './fake-cluster';

let cluster: FakeCluster;
beforeEach(async () => {
  cluster = await startFakeCluster();
});
afterEach(() => cluster.stop());

const connect = (settings: Partial<KubernetesSettings>, options?: ClusterOptions) =>
  clusterJobs(connectCluster({ namespace, ...settings }, options));

/** Sends one request, which succeeds only with credentials that the server accepts. */
const request = (kubeconfig: string) => connect({ kubeconfig }).find('absent');

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the service account of a pod', () => {
  const host = process.env['KUBERNETES_SERVICE_HOST'];
  afterEach(() => {
    if (host) process.env['KUBERNETES_SERVICE_HOST'] = host;
    else delete process.env['KUBERNETES_SERVICE_HOST'];
    delete process.env['KUBERNETES_SERVICE_PORT'];
  });

  const mounted = (name: string): string =>
    path.join(cluster.folder, 'var/run/secrets/kubernetes.io/serviceaccount', name);

  test('a worker in a pod uses its service account, and the renewed token once the old one is rejected', async () => {
    process.env['KUBERNETES_SERVICE_HOST'] = '127.0.0.1';
    process.env['KUBERNETES_SERVICE_PORT'] = new URL(cluster.server).port;
    mkdirSync(mounted(''), { recursive: true });
    for (const [name, text] of Object.entries({ token: 'first\n', namespace, 'ca.crt': cluster.certificate }))
      writeFileSync(mounted(name), text);
    cluster.accepts.token = 'first';
    const account = connect({ namespace: undefined }, { podRoot: cluster.folder });
    await expect(account.location()).resolves.toEqual({ server: cluster.server, namespace: 'training' });
    await expect(account.find('absent')).resolves.toBeUndefined();
    writeFileSync(mounted('token'), 'second\n');
    cluster.accepts.token = 'second';
    await expect(account.find('absent')).resolves.toBeUndefined();
  });

  test('the error outside a pod contains the missing setting', async () => {
    await expect(connect({}, { podRoot: cluster.folder }).location()).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(/no service account at .*`kubeconfig`.*coevolve resume/),
    });
  });
});

test('a kubeconfig supplies server, authority, token and namespace of its current or the named context', async () => {
  const kubeconfig = cluster.kubeconfig();
  const current = connect({ kubeconfig, namespace: undefined });
  await expect(current.location()).resolves.toEqual({ server: cluster.server, namespace: 'training' });
  await expect(current.find('absent')).resolves.toBeUndefined();
  await expect(connect({ kubeconfig, context: 'two', namespace: undefined }).location()).resolves.toMatchObject({
    namespace: 'default',
  });
});

test('paths in a kubeconfig are relative to it, and a client certificate replaces a token', async () => {
  const { key, certificate } = selfSigned();
  mkdirSync(path.join(cluster.folder, 'pki'));
  writeFileSync(path.join(cluster.folder, 'pki', 'client.crt'), certificate);
  writeFileSync(path.join(cluster.folder, 'pki', 'ca.crt'), cluster.certificate);
  cluster.accepts.certificate = certificate;
  const kubeconfig = cluster.kubeconfig({
    user: { 'client-certificate': 'pki/client.crt', 'client-key-data': base64(key) },
    cluster: { 'certificate-authority': 'pki/ca.crt', 'certificate-authority-data': undefined },
  });
  await expect(request(kubeconfig)).resolves.toBeUndefined();
});

test('a kubeconfig can name a token file', async () => {
  writeFileSync(path.join(cluster.folder, 'token'), 'cluster-token\n');
  await expect(request(cluster.kubeconfig({ user: { tokenFile: 'token' } }))).resolves.toBeUndefined();
});

test('a kubeconfig can contain the token of an identity provider', async () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = [part({ alg: 'none' }), part({ exp: Math.floor(Date.now() / 1000) + 600 }), 'signature'].join('.');
  cluster.accepts.token = token;
  const provider = { name: 'oidc', config: { 'id-token': token, 'client-id': 'c', 'idp-issuer-url': 'https://idp' } };
  await expect(request(cluster.kubeconfig({ user: { 'auth-provider': provider } }))).resolves.toBeUndefined();
});

test('a kubeconfig can name a proxy', async () => {
  const proxy = createServer();
  const targets: string[] = [];
  proxy.on('connect', ({ url = '' }: IncomingMessage, client: Socket) => {
    targets.push(url);
    const { hostname, port } = new URL(`https://${url}`);
    const upstream = createConnection(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  await expect(request(cluster.kubeconfig({ cluster: { 'proxy-url': address } }))).resolves.toBeUndefined();
  expect(targets).toEqual([new URL(cluster.server).host]);
  proxy.close();
});

describe('a credential program', () => {
  const runs = (): string[] => readFileSync(path.join(cluster.folder, 'runs'), 'utf8').trim().split('\n');

  /** Writes a program that logs its runs and returns the token `of-$USER_NAME-$1`, or the text of the file `token`. */
  const program = (expirationTimestamp?: string) => {
    const status = { token: '$token', ...(expirationTimestamp ? { expirationTimestamp } : {}) };
    const answer = JSON.stringify({ kind: 'ExecCredential', status }).replaceAll('"', '\\"');
    writeFileSync(
      path.join(cluster.folder, 'login'),
      `#!/bin/sh
cd "$(dirname "$0")"
echo "$KUBERNETES_EXEC_INFO" >> runs
token="$(cat token 2> /dev/null || echo "of-$USER_NAME-$1")"
echo "${answer}"
`,
    );
    chmodSync(path.join(cluster.folder, 'login'), 0o755);
    return {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './login',
      args: ['x'],
      env: [{ name: 'USER_NAME', value: 'us' }],
    };
  };

  test('runs once while its token is valid, with its own arguments and variables', async () => {
    cluster.accepts.token = 'of-us-x';
    const jobs = connect({ kubeconfig: cluster.kubeconfig({ user: { exec: program('2999-01-01T00:00:00Z') } }) });
    await expect(jobs.find('absent')).resolves.toBeUndefined();
    await expect(jobs.find('absent')).resolves.toBeUndefined();
    expect(runs().map((info) => JSON.parse(info) as unknown)).toEqual([
      { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', spec: { interactive: false } },
    ]);
  });

  test('runs again after its token has expired', async () => {
    cluster.accepts.token = 'of-us-x';
    const jobs = connect({ kubeconfig: cluster.kubeconfig({ user: { exec: program('2020-01-01T00:00:00Z') } }) });
    await jobs.find('absent');
    await jobs.find('absent');
    expect(runs()).toHaveLength(2);
  });

  test('runs again after the server has rejected a token that has not expired', async () => {
    cluster.accepts.token = 'of-us-x';
    const jobs = connect({ kubeconfig: cluster.kubeconfig({ user: { exec: program() } }) });
    await jobs.find('absent');
    cluster.accepts.token = 'renewed';
    writeFileSync(path.join(cluster.folder, 'token'), 'renewed');
    await expect(jobs.find('absent')).resolves.toBeUndefined();
    expect(runs()).toHaveLength(2);
    expect(cluster.requests).toHaveLength(3);
  });

  test('can return a client certificate', async () => {
    const { key, certificate } = selfSigned();
    cluster.accepts.certificate = certificate;
    const status = { clientCertificateData: certificate, clientKeyData: key };
    const file = path.join(cluster.folder, 'credential.json');
    writeFileSync(file, JSON.stringify({ kind: 'ExecCredential', status }));
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [file] };
    await expect(request(cluster.kubeconfig({ user: { exec } }))).resolves.toBeUndefined();
  });

  test.each<{ fault: string; command: string; args: string[]; message: string; timeoutMs?: number }>([
    { fault: 'fails', command: 'false', args: [], message: '"false" failed' },
    { fault: 'does not exist', command: '/nowhere/login', args: [], message: 'spawn /nowhere/login ENOENT' },
    { fault: 'returns no credentials', command: 'echo', args: ['a-secret'], message: '"echo" failed' },
    { fault: 'does not end', command: 'sleep', args: ['1'], message: 'no credentials after 0.1 s', timeoutMs: 100 },
  ])('that $fault is an error that Temporal retries, without the output', async (fault) => {
    const { command, args, message, timeoutMs: credentialTimeoutMs = 30_000 } = fault;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args };
    const found = connect({ kubeconfig: cluster.kubeconfig({ user: { exec } }) }, { credentialTimeoutMs }).find(
      'absent',
    );
    await expect(found).rejects.toMatchObject({
      name: 'BackendError',
      kind: 'unavailable',
      message: expect.stringContaining(message),
    });
    await expect(found).rejects.toMatchObject({ message: expect.not.stringContaining('a-secret') });
    expect(cluster.requests).toEqual([]);
  });
});

test.each([
  { fault: 'an unknown context', context: 'three', server: {}, message: 'contains no context "three"' },
  { fault: 'a context without its cluster', context: 'broken', server: {}, message: 'contains no cluster "gone"' },
  {
    fault: 'no check of the server',
    context: 'one',
    server: { 'insecure-skip-tls-verify': true },
    message: 'insecure-skip-tls-verify is not supported',
  },
  {
    fault: 'plain http',
    context: 'one',
    server: { server: 'http://127.0.0.1:1' },
    message: 'found http://127.0.0.1:1, expected https',
  },
])('a kubeconfig with $fault is rejected', async ({ context, server, message }) => {
  const kubeconfig = cluster.kubeconfig({ cluster: server });
  await expect(connect({ kubeconfig, context }).location()).rejects.toMatchObject({
    kind: 'rejected',
    message: expect.stringContaining(message),
  });
});

test('the error for a missing or invalid kubeconfig contains its path', async () => {
  const kubeconfig = path.join(cluster.folder, 'other');
  await expect(request(kubeconfig)).rejects.toThrow(`${kubeconfig}: the file does not exist`);
  for (const text of ['- 1\n', '', 'token: a-secret\nusers: [\n', 'users:\n  - user: {}\n']) {
    writeFileSync(kubeconfig, text);
    const refused = request(kubeconfig);
    await expect(refused).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining(`${kubeconfig}: it is not a kubeconfig`),
    });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('a-secret') });
  }
});

test('a corrected kubeconfig is read by the next request', async () => {
  const kubeconfig = path.join(cluster.folder, 'other');
  const jobs = connect({ kubeconfig });
  await expect(jobs.find('absent')).rejects.toThrow('does not exist');
  writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig()));
  await expect(jobs.find('absent')).resolves.toBeUndefined();
});
