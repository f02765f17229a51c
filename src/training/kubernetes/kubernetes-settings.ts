import path from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../domain/errors';
import { describeIssue } from '../../input/describe-issue';
import { readSettingsFile } from '../../input/settings-file';

const text = z.string().min(1);
const quantity = z.string().regex(/^[0-9]+(\.[0-9]+)?(m|[kKMGTP]i?)?$/, 'a Kubernetes quantity, such as 500m or 16Gi');

const settingsSchema = z.strictObject({
  /** Default: the namespace of the service account or of the kubeconfig's context. */
  namespace: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'a Kubernetes name: lower-case letters, digits, hyphens')
    .optional(),
  image: text,
  /** Persistent volume claim, ReadWriteMany; its root is the folder COEVOLVE_ARTIFACTS. */
  claim: text,
  /** Path of Python in the image. */
  python: text.default('/app/.venv/bin/python'),
  gpuResource: text.default('nvidia.com/gpu'),
  /** Requests and limits, per job and not per process; so is memory. */
  cpu: quantity.default('4'),
  memory: quantity.default('16Gi'),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  env: z.record(z.string(), z.string()).default({}),
  serviceAccount: text.default('default'),
  /** Time until the cluster deletes a finished Job with its log. */
  keepSeconds: z.number().int().min(60).max(31_536_000).default(86_400),
  /** Time during which pulls of the image may fail before the job has failed. */
  imagePullMinutes: z.number().min(0).max(1440).default(10),
  /** Template of the Job, relative to this file; default: deploy/kubernetes/training-job.yaml. */
  template: text.optional(),
  /** Relative to this file; default: the service account of the worker's pod. */
  kubeconfig: text.optional(),
  /** Context of the kubeconfig; default: its current context. */
  context: text.optional(),
});

export type KubernetesSettings = Omit<z.output<typeof settingsSchema>, 'template'> & { template: string };

export const variable = 'COEVOLVE_KUBERNETES_CONFIG';

/**
 * Reads the settings of the cluster and its Jobs; undefined when no file is named.
 *
 * @throws ConfigError with file, field, value found and value expected
 */
export function readKubernetesSettings({
  kubernetesFile: file,
  projectRoot,
}: {
  kubernetesFile?: string;
  projectRoot: string;
}): KubernetesSettings | undefined {
  if (!file) return undefined;
  const { value, unusable } = readSettingsFile({ variable, file, content: 'Kubernetes settings' });
  const settings = settingsSchema.safeParse(value, { reportInput: true });
  if (!settings.success)
    throw unusable(settings.error.issues.flatMap((issue) => describeIssue(issue, settingsSchema, value)));
  const beside = (name: string): string => path.resolve(path.dirname(file), name);
  const { template, kubeconfig, ...others } = settings.data;
  return {
    ...others,
    template: template ? beside(template) : path.join(projectRoot, 'deploy', 'kubernetes', 'training-job.yaml'),
    ...(kubeconfig ? { kubeconfig: beside(kubeconfig) } : {}),
  };
}

/**
 * Reads the settings for a campaign with `compute.backend: kubernetes`.
 *
 * @throws DomainError `NoCluster` when no file is named; ConfigError
 */
export function requireKubernetesSettings(config: Parameters<typeof readKubernetesSettings>[0]): KubernetesSettings {
  const settings = readKubernetesSettings(config);
  if (settings) return settings;
  throw new DomainError(
    'NoCluster',
    `compute.backend: found kubernetes, but ${variable} names no file; set it (example: .env.example), run \`coevolve up\` again, then start or \`coevolve resume\` the campaign`,
  );
}
