import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { exists } from '../artifacts/artifact-store';
import { DomainError } from '../domain/errors';
import { UsageError } from '../errors/errors';
import type { CampaignRow } from '../store/campaign/campaigns';
import { transaction, withClient } from '../store/database/pool';
import { writeHubFolder } from './hub-folder';
import { inspectLines, listEvaluations } from './inspect-lines';
import { requireExports, runExports, type ExportSource, type WrittenFile } from './run-exports';
import { exportedTables, queryOf } from './tables';
import { writeParquet } from './write-parquet';

export const folderFormats = ['parquet', 'inspect', 'hub'] as const;
export type FolderFormat = (typeof folderFormats)[number];

export type FolderRequest = {
  campaign: string;
  format: FolderFormat;
  /** Path of the folder, which must not exist. */
  output: string;
  /** Only for `inspect`: the evaluations of one iteration; null for all. */
  iteration: number | null;
};

export type ExportedFolder = FolderRequest & { files: WrittenFile[] };

/**
 * Writes a campaign into a new folder, which appears when it is complete.
 *
 * @throws StackError  when the optional Python packages of the exports are not installed
 * @throws UsageError  when the folder exists; for `hub`, when the campaign has not ended
 * @throws DomainError `UnknownCampaign`; `NothingToExport`, for `inspect` without an evaluation
 */
export async function exportFolder(source: ExportSource, request: FolderRequest): Promise<ExportedFolder> {
  const campaign = await source.store.campaigns.getByName(request.campaign);
  requireExports(source.config);
  if (await exists(request.output))
    throw new UsageError(
      `--output: found ${request.output}, expected a path that does not exist; move it, or name another with --output`,
    );
  const staging = `${request.output}.${randomUUID()}.staging`;
  await mkdir(staging, { recursive: true });
  try {
    const files = await writers[request.format](source, campaign, staging, request);
    await rename(staging, request.output);
    return { ...request, files };
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

type Writer = (
  source: ExportSource,
  campaign: CampaignRow,
  folder: string,
  request: FolderRequest,
) => Promise<WrittenFile[]>;

const writers: Record<FolderFormat, Writer> = {
  parquet: ({ config }, { id }, folder) => {
    const queries = exportedTables.map((table) => {
      const { name, ...query } = queryOf(table, id);
      return { path: `${name}.parquet`, ...query };
    });
    return writeParquet(config, { folder, queries });
  },
  inspect: ({ config, pool }, campaign, folder, { iteration }) =>
    withClient(pool, (client) =>
      transaction(client, async () => {
        await client.query('set transaction isolation level repeatable read, read only');
        const evaluations = await listEvaluations(client, campaign.id, iteration);
        if (evaluations.length === 0) throw nothingEvaluated(campaign.name);
        return runExports(config, 'inspect', inspectLines(client, campaign, evaluations, folder));
      }),
    ),
  hub: (source, campaign, folder) => writeHubFolder(source, campaign, folder),
};

const nothingEvaluated = (campaign: string): DomainError =>
  new DomainError(
    'NothingToExport',
    `no evaluation of "${campaign}" matches; \`coevolve status ${campaign}\` lists them, \`coevolve export ${campaign} ` +
      '--format parquet` exports all attempts',
  );
