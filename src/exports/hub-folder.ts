import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DomainError } from '../domain/errors';
import { createEnvironments } from '../envs/environments';
import { UsageError } from '../errors/errors';
import { codeVersion } from '../process/code-version';
import { contentHash } from '../store/audit/content-hash';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { exportDataset, exportFormats } from '../training/data/export-dataset';
import { hubCard, type HubConfig } from './hub-card';
import type { ExportSource, WrittenFile } from './run-exports';
import { exportedTables, queryOf, type ExportedTable } from './tables';
import { writeParquet } from './write-parquet';

const isHeldOut = `a.purpose in ('evaluation', 'test')`;

/** Conditions of the rows that belong to held-out tasks, for the tables that are split. */
const heldOut: Record<string, string> = {
  tasks: `t.split = 'held-out'`,
  attempts: isHeldOut.replace('a.', 't.'),
  turns: `exists (select from trajectories a where a.campaign_id = t.campaign_id and a.id = t.trajectory_id and ${isHeldOut})`,
};

/**
 * Writes a campaign as a data set of the Hugging Face hub: Parquet files by table and split, the training data in TRL's
 * formats, a card, and `provenance.json` with the hash of each file. Equal campaigns give equal folders.
 *
 * @throws UsageError when the campaign has not ended: a later export would have the same name and other rows
 */
export async function writeHubFolder(
  source: ExportSource,
  campaign: CampaignRow,
  folder: string,
): Promise<WrittenFile[]> {
  if (!hasEnded(campaign.status))
    throw new UsageError(
      `campaign: found "${campaign.name}" ${campaign.status}, expected one that has ended; wait with \`coevolve status ` +
        `${campaign.name} --watch\`, or export it with --format parquet`,
    );
  const { config, pool } = source;
  const examples = await writeExamples(source, campaign.name, folder);
  const queries = exportedTables.flatMap((table) => splitQueries(table, campaign.id));
  const lines = Object.fromEntries(examples.map(({ file, name }) => [file, `data/${name}/train-{}.parquet`]));
  const files = await writeParquet(config, { folder, queries, lines });
  await Promise.all(examples.map(({ file }) => rm(file)));
  const { hash, parts } = await contentHash(pool, campaign.id);
  const card = {
    campaign,
    contentHash: hash,
    license: await licenseOf(source, campaign.environment),
    configs: configsOf(files),
  };
  await writeFile(path.join(folder, 'README.md'), hubCard(card));
  const { package: version, commit, dirty } = await codeVersion(config.projectRoot);
  const provenance = {
    campaign: campaign.name,
    coevolve: { version, commit, dirty },
    specHash: campaign.specHash,
    spec: campaign.spec,
    contentHash: { hash, parts },
    nondeterminism: campaign.nondeterminism,
    license: card.license,
    files: await Promise.all(
      files.map(async (file) => ({ ...file, sha256: await sha256Of(path.join(folder, file.path)) })),
    ),
  };
  await writeFile(path.join(folder, 'provenance.json'), `${JSON.stringify(provenance, null, 2)}\n`);
  return files;
}

function splitQueries(table: ExportedTable, campaignId: number) {
  const condition = heldOut[table.name];
  const splits = condition ? { train: `not (${condition})`, heldout: condition } : { train: undefined };
  return Object.entries(splits).map(([split, rows]) => {
    const { name, ...query } = queryOf(table, campaignId, rows);
    return { path: `data/${name}/${split}-{}.parquet`, ...query };
  });
}

/** Writes the training data as JSON lines beside the tables; a campaign may have none of a kind. */
async function writeExamples({ store, pool }: ExportSource, campaign: string, folder: string) {
  const written: { name: string; file: string }[] = [];
  for (const format of exportFormats) {
    const file = path.join(folder, `${format}.jsonl`);
    const request = { campaign, format, role: 'target', iteration: null, output: file } as const;
    try {
      await exportDataset(store, pool, request);
      written.push({ name: format, file });
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'NothingToExport')) throw error;
    }
  }
  return written;
}

/** Returns the splits with rows by table. */
function configsOf(files: readonly WrittenFile[]): HubConfig[] {
  const configs = new Map<string, HubConfig>();
  for (const { path: name, rows } of files) {
    if (rows === 0) continue;
    const [, table, split] = /^data\/(.+)\/(\w+)-\d+\.parquet$/.exec(name)!;
    const config = configs.get(table!) ?? { name: table!, splits: {} };
    config.splits[split!] = (config.splits[split!] ?? 0) + rows;
    configs.set(table!, config);
  }
  return [...configs.values()];
}

/** Returns null where the environment server does not answer, or does not state a licence. */
async function licenseOf({ config }: ExportSource, environment: string): Promise<string | null> {
  try {
    return (await createEnvironments(config).data.capabilities(environment)).license;
  } catch {
    return null;
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
