import { sha256 } from '../../files/sha256';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseYaml } from '../../input/parse-yaml';
import { BackendError } from '../contract/training-backend';
import { trainerCommand } from '../local/trainer-command';
import type { KubernetesSettings } from './kubernetes-settings';

export type JobRequest = {
  jobKey: string;
  namespace: string;
  /** Folder of the job in the artifact store. */
  folder: string;
  /** Root of the artifact store: the same path in the pod and on the worker. */
  artifacts: string;
  gpus: number;
  settings: Record<string, unknown>;
  /** Content of job.json; two requests with the same text are the same job. */
  jobFile: string;
};

/** A Job as it is sent to the API server. */
export type JobManifest = Record<string, unknown>;

export const specAnnotation = 'coevolve.dev/spec-sha256';

export const specHash = (jobFile: string): string => sha256(jobFile);

/**
 * Name that Kubernetes accepts (RFC 1123, at most 63 characters): unique per key, and with the end of the key to
 * recognise it.
 */
export function jobName(jobKey: string): string {
  const slug = jobKey.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const hash = sha256(jobKey).slice(0, 12);
  return `coevolve-${slug.slice(-38).replace(/^-+|-+$/g, '')}-${hash}`.replace(/-+/g, '-');
}

/**
 * Renders the Job of a training job. Every placeholder of the template is replaced by a whole value, so that no value
 * can change the structure. The result is checked for every field that the backend relies on.
 *
 * @throws BackendError `rejected`, with a line for each unknown placeholder or missing part
 */
export async function renderJob(settings: KubernetesSettings, request: JobRequest): Promise<JobManifest> {
  const fail = (problems: readonly string[]): never => {
    const lines = problems.map((line) => `  ${line}`).join('\n');
    throw new BackendError('rejected', `template ${settings.template}: it does not render a training job:\n${lines}`);
  };
  const text = await readFile(settings.template, 'utf8').catch(() => fail(['the file cannot be read']));
  const parsed = parseYaml(text);
  if ('problems' in parsed) return fail(parsed.problems);
  const values = valuesOf(settings, request);
  const unknown: string[] = [];
  const manifest = fill(parsed.value, values, unknown);
  if (unknown.length > 0)
    return fail(unknown.map((name) => `found ${name}, expected a value or one of ${Object.keys(values).join(', ')}`));
  const checked = shapeOf(values).safeParse(manifest);
  if (checked.success) return manifest as JobManifest;
  return fail(checked.error.issues.map(({ path, message }) => `${path.join('.') || 'the whole file'}: ${message}`));
}

type Values = ReturnType<typeof valuesOf>;

function valuesOf(settings: KubernetesSettings, request: JobRequest) {
  const { cpu, memory, gpuResource } = settings;
  const command = trainerCommand(request.settings, request.folder);
  const gpus = request.gpus > 0 ? { [gpuResource]: String(request.gpus) } : {};
  const resources = { cpu, memory, ...gpus };
  return {
    name: jobName(request.jobKey),
    namespace: request.namespace,
    jobKey: request.jobKey,
    specHash: specHash(request.jobFile),
    image: settings.image,
    command: [settings.python, ...command.args],
    env: Object.entries({ ...command.env, ...settings.env }).map(([name, value]) => ({ name, value })),
    resources: { requests: resources, limits: resources },
    nodeSelector: settings.nodeSelector,
    serviceAccount: settings.serviceAccount,
    keepSeconds: settings.keepSeconds,
    artifacts: request.artifacts,
    claim: settings.claim,
  };
}

function fill(node: unknown, values: Values, unknown: string[]): unknown {
  if (Array.isArray(node)) return node.map((item) => fill(item, values, unknown));
  if (typeof node === 'object' && node !== null)
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, fill(item, values, unknown)]));
  if (typeof node !== 'string' || !node.includes('${')) return node;
  const [, name = ''] = /^\$\{(\w+)\}$/.exec(node) ?? [];
  if (Object.hasOwn(values, name)) return values[name as keyof Values];
  unknown.push(node);
  return node;
}

/** Schema of the rendered Job; an operator may add fields. */
const shapeOf = ({ name, namespace, specHash: hash, command, image, claim, artifacts }: Values) => {
  const labels = z.looseObject({ 'coevolve.dev/job': z.literal(name) });
  const isTrainer = (containers: { command?: unknown; image?: unknown; volumeMounts?: unknown }[]): boolean =>
    containers.some(
      (container) =>
        container.image === image &&
        JSON.stringify(container.command) === JSON.stringify(command) &&
        JSON.stringify(container.volumeMounts ?? []).includes(JSON.stringify(artifacts)),
    );
  return z.looseObject({
    apiVersion: z.literal('batch/v1'),
    kind: z.literal('Job'),
    metadata: z.looseObject({
      name: z.literal(name),
      namespace: z.literal(namespace),
      labels,
      annotations: z.looseObject({ [specAnnotation]: z.literal(hash) }),
    }),
    spec: z.looseObject({
      backoffLimit: z.literal(0),
      template: z.looseObject({
        metadata: z.looseObject({ labels }),
        spec: z.looseObject({
          restartPolicy: z.literal('Never'),
          containers: z
            .array(z.looseObject({}))
            .refine(isTrainer, 'expected a container with ${image}, ${command} and a mount at ${artifacts}'),
          volumes: z
            .array(z.looseObject({ persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional() }))
            .refine(
              (volumes) => volumes.some((volume) => volume.persistentVolumeClaim?.claimName === claim),
              'expected the claim ${claim}',
            ),
        }),
      }),
    }),
  });
};
