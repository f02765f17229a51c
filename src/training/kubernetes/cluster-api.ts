import { setTimeout as sleep } from 'node:timers/promises';
import type {
  BatchV1Api,
  ConfigurationOptions,
  CoreV1Api,
  KubeConfig,
  RequestContext,
  SecurityAuthentication,
} from '@kubernetes/client-node' with { 'resolution-mode': 'import' };
import { BackendError } from '../contract/training-backend';
import type { KubernetesSettings } from './kubernetes-settings';
import { loadKubeConfig } from './load-kubeconfig';

export type ClusterApi = {
  batch: BatchV1Api;
  core: CoreV1Api;
  server: string;
  namespace: string;
  /**
   * Sends this body unchanged: the serializer of the client drops fields that are newer than its Kubernetes version.
   */
  withBody(body: object): ConfigurationOptions;
};

/** Sends one request; the operation names it in errors. */
export type SendRequest = <T>(operation: string, request: (api: ClusterApi) => Promise<T>) => Promise<T>;

type Settings = Pick<KubernetesSettings, 'kubeconfig' | 'context' | 'namespace'>;

export type ClusterOptions = {
  requestTimeoutMs?: number;
  /** For a credential program or an identity provider. */
  credentialTimeoutMs?: number;
  /** Prefix of the service account's folder, for tests. */
  podRoot?: string;
};

/**
 * Connects to the API server with the first request. After a 401 the credentials are loaded again and the request is
 * sent once more, because the official client caches tokens until they expire. Other retries are Temporal's.
 *
 * @throws BackendError `unavailable` without a response and for 429 and 5xx, `rejected` for every other status
 */
export function connectCluster(settings: Settings, options: ClusterOptions = {}): SendRequest {
  let connection: Promise<ClusterApi> | undefined;

  async function send<T>(operation: string, request: (api: ClusterApi) => Promise<T>, reloads = 1): Promise<T> {
    const used = (connection ??= connect(settings, options));
    const disconnect = (): void => {
      if (connection === used) connection = undefined;
    };
    const api = await used.catch((error: unknown) => {
      disconnect();
      throw error;
    });
    return request(api).catch((error: unknown) => {
      if (statusOf(error) !== 401 || reloads === 0) throw backendErrorOf(error, `${operation} at ${api.server}`);
      disconnect();
      return send(operation, request, reloads - 1);
    });
  }

  return send;
}

async function connect(settings: Settings, options: ClusterOptions): Promise<ClusterApi> {
  const config = await loadKubeConfig(settings, options.podRoot);
  const { BatchV1Api, CoreV1Api, Observable, ServerConfiguration, createConfiguration } =
    await import('@kubernetes/client-node');
  const { server } = config.getCurrentCluster()!;
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: { default: authentication(config, options) },
  });
  const unchanged = <T>(context: T) => new Observable(Promise.resolve(context));
  return {
    batch: new BatchV1Api(configuration),
    core: new CoreV1Api(configuration),
    server,
    namespace: settings.namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    withBody(body) {
      const replace: typeof unchanged<RequestContext> = (context) => {
        context.setBody(JSON.stringify(body));
        return unchanged(context);
      };
      return { middleware: [{ pre: replace, post: unchanged }], middlewareMergeStrategy: 'append' };
    },
  };
}

/** Adds credentials and a timeout to each request: the official client waits for both without a limit. */
const authentication = (
  config: KubeConfig,
  { requestTimeoutMs = 30_000, credentialTimeoutMs = 60_000 }: ClusterOptions,
): SecurityAuthentication => ({
  getName: () => config.getName(),

  async applySecurityAuthentication(context) {
    const timeout = sleep(credentialTimeoutMs, undefined, { ref: false }).then(() => {
      throw new BackendError('unavailable', `no credentials after ${credentialTimeoutMs / 1000} s`);
    });
    await Promise.race([config.applySecurityAuthentication(context), timeout]).catch((error: Error) => {
      throw new BackendError('unavailable', credentialFailure(config, error));
    });
    context.setSignal(AbortSignal.timeout(requestTimeoutMs));
  },
});

function credentialFailure(config: KubeConfig, error: Error & { code?: unknown }): string {
  const { name = '', exec } = config.getCurrentUser() ?? {};
  const { command } = (exec ?? {}) as { command?: string };
  const source = command ? `credential program "${command}"` : `credentials of user "${name}"`;
  // Other messages can contain the program's output, and with it a token.
  const isSafe = error instanceof BackendError || typeof error.code === 'string';
  const reason = isSafe ? error.message : 'no credentials were returned';
  return `${source} failed: ${reason}; check it with \`kubectl get jobs\` and the same kubeconfig`;
}

type ApiException = { code: number; body: unknown; headers: Record<string, string | undefined> };

/** Returns the status of a response that the official client has thrown as an ApiException. */
export function statusOf(error: unknown): number | undefined {
  const { code, headers } = error as Partial<ApiException>;
  return headers && code; // a DOMException has a numeric code too, but no headers
}

function backendErrorOf(error: unknown, operation: string): BackendError {
  if (error instanceof BackendError) return error;
  if (statusOf(error) !== undefined) return errorOfStatus(error as ApiException, operation);
  const { name, message, cause } = error as Error & { cause?: { code?: string } };
  if (!cause && name !== 'TimeoutError')
    return new BackendError(
      'rejected',
      `${operation} failed: the server is not a Kubernetes API (${message}); check \`server\` in the kubeconfig`,
    );
  const code = cause?.code ?? message;
  return /CERT|SIGN|TLS|ALTNAME/.test(code)
    ? new BackendError('rejected', `${operation} failed: ${code}; check the certificate-authority in the kubeconfig`)
    : new BackendError('unavailable', `${operation} failed: ${code}`);
}

const remedies: Record<number, string> = {
  401: 'check the token or certificate of the credentials',
  403: 'let this account get, create and delete jobs, list pods and get pods/log in the namespace (deploy/kubernetes/train-worker-role.yaml)',
};

function errorOfStatus({ code, body, headers }: ApiException, operation: string): BackendError {
  const message = `${operation} failed with status ${code}: ${reasonIn(body)}`;
  if (code === 429 || code >= 500) {
    const seconds = Number(headers['retry-after']);
    return new BackendError('unavailable', message, seconds > 0 ? seconds * 1000 : undefined);
  }
  const remedy = remedies[code] ?? 'correct the template or the file of COEVOLVE_KUBERNETES_CONFIG';
  return new BackendError('rejected', `${message}; ${remedy}, then \`coevolve resume\` the campaign`);
}

function reasonIn(body: unknown): string {
  const text = typeof body === 'string' ? body : '';
  try {
    return (JSON.parse(text) as { message?: string }).message ?? 'no reason given';
  } catch {
    return text.slice(0, 300) || 'no reason given';
  }
}
