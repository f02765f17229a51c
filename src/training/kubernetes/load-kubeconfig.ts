import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KubeConfig, User } from '@kubernetes/client-node' with { 'resolution-mode': 'import' };
import { BackendError } from '../contract/training-backend';
import type { KubernetesSettings } from './kubernetes-settings';

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Loads the kubeconfig that the settings name, otherwise the service account of the worker's pod.
 *
 * @param podRoot prefix of the service account's folder, for tests
 * @throws BackendError `rejected`, with the missing part
 */
export async function loadKubeConfig(
  { kubeconfig, context }: Pick<KubernetesSettings, 'kubeconfig' | 'context'>,
  podRoot = '',
): Promise<KubeConfig> {
  // An ES module that costs 0.5 s and 60 MB: it is loaded with the first request.
  const { KubeConfig, loadYaml } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (kubeconfig) loadFile(config, { file: kubeconfig, context }, loadYaml);
  else loadServiceAccount(config, podRoot);
  return config;
}

function loadServiceAccount(config: KubeConfig, podRoot: string): void {
  const folder = path.join(podRoot, accountFolder);
  if (existsSync(path.join(folder, 'token')) && process.env['KUBERNETES_SERVICE_HOST'])
    return config.loadFromCluster(podRoot);
  const remedy = 'run the worker in a pod that has one, or add `kubeconfig` to the file of COEVOLVE_KUBERNETES_CONFIG';
  throw new BackendError(
    'rejected',
    `no service account at ${folder}: ${remedy}, then \`coevolve resume\` the campaign`,
  );
}

type RawKubeConfig = { users: { name: string; user?: { tokenFile?: string } }[] };

function loadFile(
  config: KubeConfig,
  { file, context }: { file: string; context: string | undefined },
  loadYaml: (text: string) => unknown,
): void {
  const fail = (problem: string): never => {
    const remedy = 'correct the file, then `coevolve resume` the campaign';
    throw new BackendError('rejected', `kubeconfig ${file}: ${problem}; ${remedy}`);
  };
  if (!existsSync(file)) return fail('the file does not exist');
  try {
    config.loadFromFile(file);
    const { users } = loadYaml(readFileSync(file, 'utf8')) as RawKubeConfig;
    config.users = config.users.map((user) => {
      const raw = users.find(({ name }) => name === user.name)?.user;
      return completeUser(user, raw?.tokenFile, path.dirname(file));
    });
  } catch (error) {
    // Further lines quote the file, and with it a token.
    return fail(`it is not a kubeconfig: ${(error as Error).message.split('\n')[0]}`);
  }
  if (context) config.setCurrentContext(context);
  const problem = whyUnusable(config);
  if (problem) fail(problem);
}

type ExecConfig = { apiVersion: string; command: string; env?: { name: string; value: string }[] | null };

/** Adds the parts of the kubeconfig format that the official client 2.0.1 does not support. */
function completeUser(user: User, tokenFile: string | undefined, folder: string): User {
  if (user.exec) {
    const { apiVersion, command, env } = user.exec as ExecConfig;
    // client-go sets this variable, and resolves a command with a slash from the kubeconfig.
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    const variables = [...(env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }];
    const file = command.includes('/') ? path.resolve(folder, command) : command;
    return { ...user, exec: { ...user.exec, command: file, env: variables } };
  }
  if (!tokenFile) return user;
  // The official client reads the key `token-file`, and client-go the key `tokenFile`.
  return { ...user, authProvider: { name: 'tokenFile', config: { tokenFile: path.resolve(folder, tokenFile) } } };
}

function whyUnusable(config: KubeConfig): string | undefined {
  if (config.contexts.length === 0) return 'it is not a kubeconfig: it contains no contexts';
  const name = config.getCurrentContext();
  const context = config.getContextObject(name);
  if (!context) return `it contains no context "${name}"`;
  const cluster = config.getCluster(context.cluster);
  if (!cluster) return `it contains no cluster "${context.cluster}"`;
  if (!config.getUser(context.user)) return `it contains no user "${context.user}"`;
  const isPlain = cluster.server.startsWith('http:');
  if (cluster.skipTLSVerify && !isPlain)
    return 'insecure-skip-tls-verify is not supported for https: name the certificate-authority';
  if (!cluster.skipTLSVerify && isPlain)
    return `server: found ${cluster.server}, expected https, or insecure-skip-tls-verify: true for plain http`;
  return undefined;
}
