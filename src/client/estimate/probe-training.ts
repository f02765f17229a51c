import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore } from '../../artifacts/artifact-store';
import { sha256 } from '../../files/sha256';
import type { Config } from '../../config';
import { killTrainers } from '../../process/find-trainer';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { trainerSettings } from '../../specification/trainer-settings';
import type {
  TrainingBackend,
  TrainingJob,
  TrainingProgress,
  TrainingStatus,
} from '../../training/contract/training-backend';
import { localBackend } from '../../training/local/local-backend';

type Policy = { hash: string; path: string };

/** `updates`: those after the first one, which warms up, unless it is the only one. */
export type TrainingProbe = { tokensPerS: number; updates: number } | { problem: string };

/** For the whole probe, from the start of its first process: two processes load PyTorch, which takes 7 s each on a busy machine. */
const limitMs = 40_000;
/** Updates after the first one are timed for this long. */
const timedMs = 3_000;
/** Of an update, so that a CPU makes several within the limit: of pretrained weights, and of the embedded policy. */
const maxUpdateTokens = { pretrained: 512, scratch: 4096 };
/** Of the text of hexadecimal digits that is trained on; a tokenizer has few longer pieces for it. */
const charactersPerToken = 1.75;

/**
 * Times the first updates of a real job with the settings of a spec, in a folder of its own that is deleted at once. Ends
 * within 40 s.
 *
 * @param policy    to start from, or null for one from scratch
 * @param rowTokens mean length of a row
 */
export async function probeTraining(
  { python, projectRoot }: Pick<Config, 'python' | 'projectRoot'>,
  spec: CampaignSpec,
  policy: Policy | null,
  rowTokens: number,
): Promise<TrainingProbe> {
  const end = Date.now() + limitMs;
  const root = await mkdtemp(join(tmpdir(), 'coevolve-probe-'));
  const artifacts = artifactStore(root);
  const backend = localBackend({ python, projectRoot }, artifacts);
  const job = { dataset: null, reference: null, trainerState: null, seed: spec.seed };
  try {
    const most = maxUpdateTokens[policy ? 'pretrained' : 'scratch'];
    const tokens = Math.min(rowTokens, most);
    const batch = Math.min(spec.training.sft.batchSize, Math.floor(most / tokens));
    const dataset = await artifacts.saveDataset(rowsOf(4 * batch, Math.round(tokens * charactersPerToken)));
    const init = { ...job, jobKey: 'init', method: 'init', base: null, dataset } as const;
    const base = policy ?? (await createPolicy(backend, { ...init, settings: trainerSettings(spec, 'init', 0) }, end));
    if ('problem' in base) return base;
    const { updates: _, stop_at_loss: __, ...settings } = trainerSettings(spec, 'sft', 0);
    const endless = { ...settings, epochs: 1000, batch_size: batch, log_every: 1, checkpoint_every: 1e9 };
    await backend.submit({ ...job, jobKey: 'sft', method: 'sft', base, dataset, settings: endless });
    return await timeUpdates(backend, 'sft', end);
  } finally {
    for (const name of ['init', 'sft']) killTrainers(artifacts.jobPath(name)); // without the checkpoint of a stop
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function createPolicy(
  backend: TrainingBackend,
  job: TrainingJob,
  end: number,
): Promise<Policy | { problem: string }> {
  await backend.submit(job);
  for (;;) {
    const status = await backend.status(job.jobKey);
    if (status.state === 'succeeded') return { hash: status.policyHash, path: status.policyPath };
    const problem = probeProblem(status, end);
    if (problem) return { problem };
    await sleep(100);
  }
}

async function timeUpdates(backend: TrainingBackend, jobKey: string, end: number): Promise<TrainingProbe> {
  let warm = Infinity;
  for (;;) {
    const updates = await backend.curve(jobKey, 0);
    if (updates.length > 0) warm = Math.min(warm, Date.now());
    if ((updates.length > 1 && Date.now() - warm > timedMs) || (updates.length > 0 && Date.now() > end))
      return speedOf(updates);
    const problem = probeProblem(await backend.status(jobKey), end);
    if (problem) return { problem };
    await sleep(100);
  }
}

function speedOf(updates: readonly TrainingProgress[]): TrainingProbe {
  const timed = updates.length > 1 ? updates.slice(1) : updates;
  const inverse = timed.reduce((sum, update) => sum + 1 / update['tokens_per_s']!, 0); // equal updates: harmonic mean
  return { tokensPerS: timed.length / inverse, updates: timed.length };
}

function probeProblem(status: TrainingStatus, end: number): string | null {
  if (status.state === 'failed') return status.failure.message;
  if (status.state === 'absent') return 'the trainer ended without a result';
  return Date.now() > end ? `no update within ${limitMs / 1000} s` : null;
}

/** Returns demonstrations of one action, which is a third of the text. */
function rowsOf(count: number, characters: number): string[] {
  const text = (key: string, length: number): string =>
    Array.from({ length: Math.ceil(length / 64) }, (_, i) => sha256(`${key} ${i}`))
      .join('')
      .slice(0, length);
  return Array.from({ length: count }, (_, i) => {
    const messages = [
      { role: 'user', content: text(`prompt ${i}`, Math.ceil((characters * 2) / 3)) },
      { role: 'assistant', content: text(`action ${i}`, Math.ceil(characters / 3)) },
    ];
    return JSON.stringify({ trajectory_id: `probe-${i}`, messages });
  });
}
