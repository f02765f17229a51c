import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { parseYaml } from '../../spec/parse-yaml';
import { BackendError } from '../backend-error';
import { credentialProgram, type CredentialProgram } from './credential-program';
import type { KubernetesSettings } from './kubernetes-settings';

/** How the API server is reached; PEM texts. */
export type Credentials = {
  server: string;
  namespace: string;
  ca?: string | undefined;
  certificate?: string | undefined;
  key?: string | undefined;
  /** Asked before every request: a pod's token is renewed every hour. */
  token(): Promise<string | undefined>;
};

const mountedAt = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * From the kubeconfig that the settings name, else from the service account that a pod is given.
 *
 * @param mounted folder of the service account
 * @throws BackendError `refused`, naming what is missing
 */
export function readCredentials(
  settings: Pick<KubernetesSettings, 'kubeconfig' | 'context'>,
  mounted = mountedAt,
): Credentials {
  return settings.kubeconfig ? fromKubeconfig(settings.kubeconfig, settings.context) : fromPod(mounted);
}

function fromPod(folder: string): Credentials {
  const file = (name: string): string => path.join(folder, name);
  if (!existsSync(file('token')))
    throw new BackendError(
      'refused',
      `no service account is mounted at ${folder}: run the train worker in a pod that has one, or name a kubeconfig in the file of COEVOLVE_KUBERNETES_CONFIG, then \`coevolve resume\` the campaign`,
    );
  return {
    server: 'https://kubernetes.default.svc',
    namespace: readFileSync(file('namespace'), 'utf8').trim(),
    ca: readFileSync(file('ca.crt'), 'utf8'),
    token: () => Promise.resolve(readFileSync(file('token'), 'utf8').trim()),
  };
}

const named = <T extends z.ZodRawShape>(name: string, shape: T) =>
  z.array(z.object({ name: z.string(), [name]: z.looseObject(shape) })).default([]);

const kubeconfig = z.looseObject({
  'current-context': z.string().optional(),
  contexts: named('context', { cluster: z.string(), user: z.string(), namespace: z.string().optional() }),
  clusters: named('cluster', {
    server: z.string(),
    'certificate-authority': z.string().optional(),
    'certificate-authority-data': z.string().optional(),
    'insecure-skip-tls-verify': z.boolean().optional(),
  }),
  users: named('user', {
    token: z.string().optional(),
    tokenFile: z.string().optional(),
    'client-certificate': z.string().optional(),
    'client-certificate-data': z.string().optional(),
    'client-key': z.string().optional(),
    'client-key-data': z.string().optional(),
    exec: z
      .looseObject({
        apiVersion: z.string(),
        command: z.string(),
        args: z.array(z.string()).nullish(),
        env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
      })
      .optional(),
  }),
});

type Part = Record<string, unknown>;

function fromKubeconfig(file: string, wanted: string | undefined): Credentials {
  const fail = (problem: string): never => {
    throw new BackendError('refused', `${file}: ${problem}; correct it, then \`coevolve resume\` the campaign`);
  };
  if (!existsSync(file)) return fail('there is no such kubeconfig');
  const parsed = parseYaml(readFileSync(file, 'utf8'));
  const read = kubeconfig.safeParse('value' in parsed ? parsed.value : undefined);
  if (!read.success) return fail('is no kubeconfig');
  const part = (list: readonly Part[], kind: string, name: unknown): Part =>
    (list.find((one) => one['name'] === name)?.[kind] as Part | undefined) ??
    fail(`holds no ${kind} "${String(name)}"`);
  const context = part(read.data.contexts, 'context', wanted ?? read.data['current-context']);
  const cluster = part(read.data.clusters, 'cluster', context['cluster']);
  const user = part(read.data.users, 'user', context['user']);
  if (cluster['insecure-skip-tls-verify']) return fail('insecure-skip-tls-verify is not supported: name the authority');
  const pem = (from: Part, key: string): string | undefined => {
    const [data, name] = [from[`${key}-data`], from[key]] as (string | undefined)[];
    if (data) return Buffer.from(data, 'base64').toString('utf8');
    return name ? readFileSync(path.resolve(path.dirname(file), name), 'utf8') : undefined;
  };
  return {
    server: String(cluster['server']).replace(/\/+$/, ''),
    namespace: (context['namespace'] as string | undefined) ?? 'default',
    ca: pem(cluster, 'certificate-authority'),
    certificate: pem(user, 'client-certificate'),
    key: pem(user, 'client-key'),
    token: tokenOf(user, path.dirname(file)),
  };
}

function tokenOf(user: Part, folder: string): () => Promise<string | undefined> {
  const { token, tokenFile, exec } = user as { token?: string; tokenFile?: string; exec?: CredentialProgram };
  if (exec) return credentialProgram(exec, folder);
  if (tokenFile) return () => Promise.resolve(readFileSync(path.resolve(folder, tokenFile), 'utf8').trim());
  return () => Promise.resolve(token);
}
