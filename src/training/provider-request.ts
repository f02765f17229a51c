import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobCreateParams } from 'openai/resources/fine-tuning';
import { writeWhole, type ArtifactStore } from '../artifacts/artifact-store';
import { servedBy, type ServedBy } from '../artifacts/served-policy';
import { DomainError } from '../domain/errors';
import { providerDataset } from './provider-dataset';
import type { TrainingJob } from './training-backend';

/** What was asked of the provider; written to the job's folder before it is asked, without the id that comes back. */
export type Asked = {
  provider: string;
  /** Names the job at the provider: equal requests for one job key have equal names. */
  name: string;
  request: Omit<JobCreateParams, 'training_file'>;
  /** For the manifest of the policy. */
  facts: Record<string, unknown>;
  jobId?: string;
  /** We have cancelled it. */
  cancelled?: true;
};

/**
 * What a provider is asked for a job, and the file that the job trains on.
 *
 * @throws DomainError `UnsupportedMethod`, `NothingToTrain`, `NotText`, `UnknownPolicy`
 */
export async function prepareRequest(
  artifacts: ArtifactStore,
  job: TrainingJob,
): Promise<{ asked: Asked; file: string; lines: string[] }> {
  const { jobKey, method, seed, settings } = job;
  if (method !== 'sft' && method !== 'rft' && method !== 'dpo') throw unsupported(`${jobKey} is trained by ${method}`);
  if (!job.base || !job.dataset) throw unsupported(`${jobKey} has no base policy, or no dataset`);
  const { provider, model } = await baseOf(artifacts, job.base.hash);
  const rows = (await readFile(job.dataset.path, 'utf8')).trim().split('\n');
  const kind = method === 'dpo' ? 'dpo' : 'sft'; // the rows of rft are successes already
  const { lines, dropped } = providerDataset(rows, kind);
  if (lines.length === 0)
    throw new DomainError(
      'NothingToTrain',
      `${jobKey}: none of ${rows.length} rows can be expressed in the provider's format: ${JSON.stringify(dropped)}`,
    );
  const file = `coevolve-${sha256(lines.join('\n'))}.jsonl`;
  const request = {
    model,
    seed,
    suffix: suffixOf(jobKey),
    ...methodOf(kind, settings),
    metadata: { job_key: jobKey },
  };
  const facts = {
    ...{ method, job_key: jobKey, seed, base_hash: job.base.hash, dataset_sha256: job.dataset.sha256 },
    ...{ uploaded: file, examples: lines.length, dropped, hyperparameters: hyperparametersOf(kind, settings) },
  };
  return { asked: { provider, name: sha256(JSON.stringify([request, file])), request, facts }, file, lines };
}

async function baseOf(artifacts: ArtifactStore, hash: string): Promise<ServedBy> {
  const place = await servedBy(artifacts, hash);
  if (place) return place;
  throw unsupported(`policy ${hash.slice(0, 12)} is not served by a provider`);
}

export const unsupported = (what: string): DomainError =>
  new DomainError(
    'UnsupportedMethod',
    `${what}; the backend openai fine-tunes a provider's model by sft, rft and dpo: start another campaign with compute.backend local`,
  );

/** What a provider lets be chosen; its learning rate, schedule and weight decay are its own. */
function hyperparametersOf(method: 'sft' | 'dpo', settings: Record<string, unknown>) {
  const number = (key: string): { [key: string]: number } =>
    typeof settings[key] === 'number' ? { [key === 'epochs' ? 'n_epochs' : key]: settings[key] } : {};
  return { ...number('epochs'), ...number('batch_size'), ...(method === 'dpo' ? number('beta') : {}) };
}

function methodOf(method: 'sft' | 'dpo', settings: Record<string, unknown>): Pick<JobCreateParams, 'method'> {
  const hyperparameters = hyperparametersOf(method, settings);
  return method === 'dpo'
    ? { method: { type: 'dpo', dpo: { hyperparameters } } }
    : { method: { type: 'supervised', supervised: { hyperparameters } } };
}

/** Becomes part of the model's name: at most 40 of letters, digits and hyphens, which every known server takes. */
const suffixOf = (jobKey: string): string =>
  jobKey
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .slice(-40)
    .replace(/^-+|-+$/g, '');

export const record = (folder: string, asked: Asked): Promise<void> =>
  writeWhole(fileOf(folder), JSON.stringify(asked, null, 2));

export async function recorded(folder: string): Promise<Asked | undefined> {
  const text = await readFile(fileOf(folder), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Asked);
}

const fileOf = (folder: string): string => join(folder, 'provider-job.json');

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
