import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ConfigError, type Config } from '../../config';
import { DomainError } from '../../domain/base/errors';
import { describeIssue } from '../../spec/describe-issue';
import { parseYaml } from '../../spec/parse-yaml';

const text = z.string().min(1);
const quantity = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?(m|[kKMGTP]i?)?$/, 'a quantity of Kubernetes, such as 500m or 16Gi');

const settingsSchema = z.strictObject({
  /** Default: that of the service account, or of the kubeconfig's context. */
  namespace: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'a name of Kubernetes: lower-case letters, digits, hyphens')
    .optional(),
  image: text,
  /** Persistent volume claim, readable and writable by many nodes, whose root is the folder COEVOLVE_ARTIFACTS. */
  claim: text,
  /** Python in the image. */
  python: text.default('/app/.venv/bin/python'),
  gpuResource: text.default('nvidia.com/gpu'),
  /** Asked for and granted: per job, not per process. */
  cpu: quantity.default('4'),
  memory: quantity.default('16Gi'),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  env: z.record(z.string(), z.string()).default({}),
  serviceAccount: text.default('default'),
  /** How long the cluster keeps a finished Job with its log. */
  keepSeconds: z.number().int().min(60).max(31_536_000).default(86_400),
  /** How long an image may fail to be pulled before the job has failed. */
  imagePullMinutes: z.number().min(0).max(1440).default(10),
  /** The Job, as a file relative to this one; default: deploy/kubernetes/training-job.yaml. */
  template: text.optional(),
  /** Absent: the service account of the pod that the worker runs in. Relative to this file. */
  kubeconfig: text.optional(),
  /** Of the kubeconfig; default: its current one. */
  context: text.optional(),
});

export type KubernetesSettings = Omit<z.output<typeof settingsSchema>, 'template'> & { template: string };

const variable = 'COEVOLVE_KUBERNETES_CONFIG';

/**
 * Reads where and how Jobs are submitted; undefined when no file is named.
 *
 * @throws ConfigError naming file, field, what was found and what was expected
 */
export function readKubernetesSettings(
  config: Pick<Config, 'kubernetesFile' | 'projectRoot'>,
): KubernetesSettings | undefined {
  const { kubernetesFile: file, projectRoot } = config;
  if (!file) return undefined;
  const parsed = parseYaml(readText(file));
  if ('problems' in parsed) throw unusable(file, parsed.problems);
  const settings = settingsSchema.safeParse(parsed.value, { reportInput: true });
  if (!settings.success)
    throw unusable(
      file,
      settings.error.issues.flatMap((issue) => describeIssue(issue, settingsSchema, parsed.value)),
    );
  const beside = (name: string): string => path.resolve(path.dirname(file), name);
  const { template, kubeconfig, ...others } = settings.data;
  return {
    ...others,
    template: template ? beside(template) : path.join(projectRoot, 'deploy', 'kubernetes', 'training-job.yaml'),
    ...(kubeconfig ? { kubeconfig: beside(kubeconfig) } : {}),
  };
}

/**
 * The settings of whoever wants Jobs.
 *
 * @throws DomainError `NoCluster` when no file is named; ConfigError
 */
export function requireKubernetesSettings(config: Parameters<typeof readKubernetesSettings>[0]): KubernetesSettings {
  const settings = readKubernetesSettings(config);
  if (settings) return settings;
  throw new DomainError(
    'NoCluster',
    `compute.backend: found kubernetes, and ${variable} names no file; .env.example shows one: set it, run \`coevolve up\` again, then start the campaign, or \`coevolve resume\` one that parked`,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(variable, `cannot read the settings: ${(error as Error).message}`);
  }
}

const unusable = (file: string, problems: readonly string[]): ConfigError =>
  new ConfigError(
    variable,
    `${file} does not say how to train on Kubernetes:\n${problems.map((line) => `  ${line}`).join('\n')}`,
  );
