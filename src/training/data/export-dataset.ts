import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { AgentRole } from '../../domain/roles';
import type { Reading } from '../../domain/rollout/reading';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { Store } from '../../store';
import { listDemonstrations, listTrainingPairs, type ExampleQuery } from '../../store/training/training-examples';
import { demonstrationLine, pairLine } from './export-rows';

export const exportFormats = ['trl-sft', 'trl-dpo'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export type ExportRequest = {
  campaign: string;
  format: ExportFormat;
  role: AgentRole;
  /** null: all of them. */
  iteration: number | null;
  /** Path of the file, which is replaced if it exists. */
  output: string;
};

export type Exported = ExportRequest & { rows: number; bytes: number; sha256: string };

type Query = ExampleQuery & Pick<Reading, 'functions'>;

const chunkSize = 200;

/**
 * Writes the training examples of a campaign as JSON lines for `datasets.load_dataset("json")` and TRL's trainers. The
 * rows are streamed in a fixed order, so equal rows give equal bytes, and the file appears only when it is complete.
 *
 * @throws DomainError `UnknownCampaign`; `NothingToExport`, with the next commands
 */
export async function exportDataset(store: Store, pool: Pool, request: ExportRequest): Promise<Exported> {
  const { id: campaignId, spec } = await store.campaigns.getByName(request.campaign);
  const { functions = 'text' } = (spec as Partial<CampaignSpec>).policy ?? {};
  const query = { campaignId, role: request.role, iteration: request.iteration, functions };
  const lines = request.format === 'trl-sft' ? demonstrations(store, pool, query) : pairs(store, pool, query);
  const written = await writeLines(request.output, lines, () => nothingToExport(request));
  return { ...request, ...written };
}

async function* demonstrations(store: Store, pool: Pool, query: Query): AsyncGenerator<string> {
  for (const part of parts(await listDemonstrations(pool, query))) {
    const ids = part.map(({ trajectoryId }) => trajectoryId);
    const bodies = await store.trajectories.findMany(query.campaignId, ids);
    for (const example of part) yield demonstrationLine(example, bodies.get(example.trajectoryId)!, query.functions);
  }
}

async function* pairs(store: Store, pool: Pool, query: Query): AsyncGenerator<string> {
  for (const part of parts(await listTrainingPairs(pool, query))) {
    const ids = part.flatMap(({ chosenId, rejectedId }) => [chosenId, rejectedId]);
    const bodies = await store.trajectories.findMany(query.campaignId, ids);
    for (const pair of part)
      yield pairLine(pair, bodies.get(pair.chosenId)!, bodies.get(pair.rejectedId)!, query.functions);
  }
}

function* parts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += chunkSize) yield all.slice(start, start + chunkSize);
}

/** Writes to a staging file, flushes and renames it; deletes it after a failure. */
async function writeLines(output: string, lines: AsyncIterable<string>, emptyError: () => Error) {
  await mkdir(dirname(output), { recursive: true });
  const staging = `${output}.${randomUUID()}.staging`;
  const hash = createHash('sha256');
  let rows = 0;
  let bytes = 0;
  try {
    const file = await open(staging, 'w');
    try {
      for await (const line of lines) {
        const text = Buffer.from(`${line}\n`);
        await file.writeFile(text);
        hash.update(text);
        rows += 1;
        bytes += text.length;
      }
      if (rows === 0) throw emptyError();
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staging, output);
  } catch (error) {
    await rm(staging, { force: true });
    throw error;
  }
  return { rows, bytes, sha256: hash.digest('hex') };
}

function nothingToExport({ campaign, format, role, iteration }: ExportRequest): DomainError {
  const kind = format === 'trl-sft' ? 'trajectory' : 'preference pair';
  const scope = iteration === null ? '' : ` in iteration ${iteration}`;
  const other = format === 'trl-sft' ? '--format trl-dpo' : '--format trl-sft';
  return new DomainError(
    'NothingToExport',
    `no ${kind} trained the ${role} of "${campaign}"${scope}; \`coevolve status ${campaign}\` lists the training runs, ` +
      `\`coevolve export ${campaign} ${other}\` exports the other kind`,
  );
}
