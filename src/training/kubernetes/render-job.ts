import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseYaml } from '../../spec/parse-yaml';
import { BackendError } from '../backend-error';
import { trainerCommand } from '../local/trainer-command';
import type { KubernetesSettings } from './kubernetes-settings';

export type JobRequest = {
  jobKey: string;
  namespace: string;
  /** Of the job, in the artifact store. */
  folder: string;
  /** Root of the artifact store: the same path in the pod as here. */
  artifacts: string;
  gpus: number;
  settings: Record<string, unknown>;
  /** What the trainer is told; two requests with the same text are the same job. */
  jobFile: string;
};

/** A Job as it is sent, or as the API server shows it. */
export type JobManifest = Record<string, unknown>;

export const specAnnotation = 'coevolve.dev/spec-sha256';

export const specHash = (jobFile: string): string => createHash('sha256').update(jobFile).digest('hex');

/** A name that Kubernetes takes (RFC 1123, at most 63), which differs for different keys and lets a reader guess the key. */
export function jobName(jobKey: string): string {
  const slug = jobKey.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const hash = createHash('sha256').update(jobKey).digest('hex').slice(0, 12);
  return `coevolve-${slug.slice(-38).replace(/^-+|-+$/g, '')}-${hash}`.replace(/-+/g, '-');
}

/**
 * The Job of a training job: the template with every placeholder replaced by a whole value, so that no value can change
 * its shape. The result must still be what the backend relies on.
 *
 * @throws BackendError `refused`, a line for each unknown placeholder or missing part
 */
export async function renderJob(settings: KubernetesSettings, request: JobRequest): Promise<JobManifest> {
  const fail = (problems: readonly string[]): never => {
    const lines = problems.map((line) => `  ${line}`).join('\n');
    throw new BackendError('refused', `${settings.template} makes no training job:\n${lines}`);
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

/** What must come out, whatever an operator has added around it. */
const shapeOf = ({ name, namespace, specHash: hash, command, image, claim, artifacts }: Values) => {
  const labels = z.looseObject({ 'coevolve.dev/job': z.literal(name) });
  const isTrainer = (containers: { command?: unknown; image?: unknown; volumeMounts?: unknown }[]): boolean =>
    containers.some(
      (one) =>
        one.image === image &&
        JSON.stringify(one.command) === JSON.stringify(command) &&
        JSON.stringify(one.volumeMounts ?? []).includes(JSON.stringify(artifacts)),
    );
  return z.looseObject({
    apiVersion: z.literal('batch/v1'),
    kind: z.literal('Job'),
    metadata: z.looseObject({
      ...{ name: z.literal(name), namespace: z.literal(namespace), labels },
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
