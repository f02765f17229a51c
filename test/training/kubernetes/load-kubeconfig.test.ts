import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCredentials } from '../../../src/training/kubernetes/load-kubeconfig';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-credentials-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const config = (user: object, cluster: object = {}): string => {
  const file = path.join(folder, 'config');
  const contexts = [
    { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'training' } },
    { name: 'two', context: { cluster: 'c', user: 'u' } },
    { name: 'broken', context: { cluster: 'gone', user: 'u' } },
  ];
  const clusters = [
    { name: 'c', cluster: { server: 'https://c:6443/', 'certificate-authority-data': base64('the ca'), ...cluster } },
  ];
  writeFileSync(file, JSON.stringify({ 'current-context': 'one', contexts, clusters, users: [{ name: 'u', user }] }));
  return file;
};

test('a pod has a service account, whose token is read anew each time', async () => {
  for (const [name, text] of Object.entries({ token: 'first\n', namespace: 'training\n', 'ca.crt': 'the ca' }))
    writeFileSync(path.join(folder, name), text);
  const credentials = readCredentials({}, folder);
  expect(credentials).toMatchObject({ server: 'https://kubernetes.default.svc', namespace: 'training', ca: 'the ca' });
  await expect(credentials.token()).resolves.toBe('first');
  writeFileSync(path.join(folder, 'token'), 'second\n');
  await expect(credentials.token()).resolves.toBe('second');
});

test('without a service account it is said what to do', () => {
  expect(() => readCredentials({}, path.join(folder, 'none'))).toThrow(
    expect.objectContaining({ kind: 'refused', message: expect.stringMatching(/service account.*kubeconfig/) }),
  );
});

test('a kubeconfig names server, authority, namespace and token, of its current context or of another', async () => {
  const kubeconfig = config({ token: 'secret' });
  const credentials = readCredentials({ kubeconfig });
  expect(credentials).toMatchObject({ server: 'https://c:6443', namespace: 'training', ca: 'the ca' });
  await expect(credentials.token()).resolves.toBe('secret');
  expect(readCredentials({ kubeconfig, context: 'two' }).namespace).toBe('default');
});

test('a kubeconfig may name files, and a certificate in place of a token', async () => {
  mkdirSync(path.join(folder, 'pki'));
  writeFileSync(path.join(folder, 'pki', 'client.crt'), 'the certificate');
  const credentials = readCredentials({
    kubeconfig: config({ 'client-certificate': 'pki/client.crt', 'client-key-data': base64('the key') }),
  });
  expect(credentials).toMatchObject({ certificate: 'the certificate', key: 'the key' });
  await expect(credentials.token()).resolves.toBeUndefined();
});

test('a credential program is asked once while its token lives, with its own variables', async () => {
  const program = path.join(folder, 'login');
  const status = '"status":{"token":"of-$WHO-$1","expirationTimestamp":"2999-01-01T00:00:00Z"}';
  writeFileSync(
    program,
    `#!/bin/sh\necho asked >> "$(dirname "$0")/asked"\necho "{${status.replaceAll('"', '\\"')}}"\n`,
  );
  chmodSync(program, 0o755);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './login',
    args: ['x'],
    env: [{ name: 'WHO', value: 'us' }],
  };
  const credentials = readCredentials({ kubeconfig: config({ exec }) });
  await expect(credentials.token()).resolves.toBe('of-us-x');
  await expect(credentials.token()).resolves.toBe('of-us-x');
  expect(readFileSync(path.join(folder, 'asked'), 'utf8')).toBe('asked\n');
});

test('a credential program that fails is a failure that may pass', async () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'false' };
  await expect(readCredentials({ kubeconfig: config({ exec }) }).token()).rejects.toMatchObject({
    ...{ name: 'BackendError', kind: 'retry', message: expect.stringContaining('"false" failed (1)') },
  });
});

test.each([
  { fault: 'an unknown context', context: 'three', cluster: {}, says: 'holds no context "three"' },
  { fault: 'a context without its cluster', context: 'broken', cluster: {}, says: 'holds no cluster "gone"' },
  {
    fault: 'no check of the server',
    context: 'one',
    cluster: { 'insecure-skip-tls-verify': true },
    says: 'insecure-skip-tls-verify',
  },
])('a kubeconfig with $fault is refused', ({ context, cluster, says }) => {
  expect(() => readCredentials({ kubeconfig: config({ token: 't' }, cluster), context })).toThrow(says);
});

test('a kubeconfig that is none, or is not there, is refused by its name', () => {
  const kubeconfig = path.join(folder, 'other');
  expect(() => readCredentials({ kubeconfig })).toThrow(kubeconfig);
  writeFileSync(kubeconfig, '- 1\n');
  expect(() => readCredentials({ kubeconfig })).toThrow('is no kubeconfig');
});
