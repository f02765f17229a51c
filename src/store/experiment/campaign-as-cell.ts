import type { Pool } from 'pg';
import type { CellName } from '../../domain/experiment/experiment';
import type { RecordedCell, ScoreRow } from '../../domain/experiment/record';
import { contentHash } from '../audit/content-hash';
import type { CampaignRow } from '../campaign/campaigns';
import { cellManifest } from './cell-manifest';
import { effortOf } from './effort';
import { listCampaignScores } from './scores';

/**
 * Reads a finished campaign as a cell that no experiment declared, with its rows of the long table: the same manifest,
 * effort and scores as `coevolve experiment` stores for its own cells.
 */
export async function readAsCell(
  pool: Pick<Pool, 'query'>,
  { id, name }: Pick<CampaignRow, 'id' | 'name'>,
  cell: CellName,
): Promise<{ cell: RecordedCell; scores: ScoreRow[] }> {
  const content = await contentHash(pool, id);
  const { manifest, testHash, leakedTasks } = await cellManifest(pool, id, content, []);
  const scores = await listCampaignScores(pool, id);
  return {
    cell: {
      ...cell,
      status: 'finished',
      reason: null,
      exploratory: true,
      testHash,
      leakedTasks,
      campaign: name,
      version: 1,
      imported: false,
      contentHash: content.hash,
      manifest,
      checkpoints: await effortOf(pool, id),
    },
    scores: scores.map((score) => ({ ...cell, ...score })),
  };
}
