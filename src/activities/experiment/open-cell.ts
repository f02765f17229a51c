import { DomainError } from '../../domain/errors';
import type { CampaignState } from '../../domain/campaign/progress';
import { cellCampaign, type CellName } from '../../domain/experiment/experiment';
import { cellSpec } from '../../specification/experiment/cell-spec';
import { campaignOf } from '../../specification/read-spec';
import type { ExperimentRow } from '../../store/experiment/experiments';
import type { Dependencies } from '../context/dependencies';
import { reachedLimit } from './stopping-limits';

type Input = CellName & { experimentId: number; nondeterminism: readonly string[] };

/** `ended`: there is nothing to play; `limit`: no further cell may start. */
export type OpenedCell =
  | { outcome: 'play'; state: CampaignState; weight: number }
  | { outcome: 'ended' }
  | { outcome: 'limit'; reason: string };

/**
 * Stores a cell and its campaign, or finds them. A cell that cannot be played, because it matches one without a result or
 * because a campaign with another spec has its name, is stored as missing.
 */
export const openCell =
  ({ store, analyze }: Dependencies) =>
  async ({ experimentId, arm, seed, nondeterminism }: Input): Promise<OpenedCell> => {
    const { experiments, experimentCells, campaigns } = store;
    const experiment = await experiments.get(experimentId);
    const cell = { experimentId, arm, seed, campaign: cellCampaign(experiment.name, { arm, seed }) };
    const stored = await experimentCells.find(experimentId, cell);
    if (stored?.status === 'finished') return { outcome: 'ended' };
    const limit = stored ? null : await reachedLimit({ store, analyze }, experiment, cell);
    if (limit !== null) return { outcome: 'limit', reason: limit };
    try {
      await requireMatched({ store }, experiment, cell);
      const spec = cellSpec(experiment.resolved, cell);
      const campaign = await campaigns.save(campaignOf(spec, await campaigns.find(spec.name)));
      await campaigns.addNondeterminism(campaign.id, nondeterminism);
      await experimentCells.open(cell);
      const opened = await experimentCells.find(experimentId, cell);
      if (opened?.status !== 'running' || campaign.finishedAt) return { outcome: 'ended' };
      return { outcome: 'play', state: await campaigns.rebuild(campaign.id), weight: spec.weight };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      await experimentCells.markMissing(cell, error.message);
      return { outcome: 'ended' };
    }
  };

/** @throws DomainError `NotMatched` when the cell that this one matches has no result */
async function requireMatched(
  { store }: Pick<Dependencies, 'store'>,
  { id, resolved }: ExperimentRow,
  { arm, seed }: CellName,
): Promise<void> {
  const matches = resolved.arms.find(({ name }) => name === arm)?.matches;
  if (!matches) return;
  const matched = await store.experimentCells.find(id, { arm: matches, seed });
  if (matched?.status === 'finished') return;
  throw new DomainError(
    'NotMatched',
    `it matches ${cellCampaign(resolved.name, { arm: matches, seed })}, which is missing`,
  );
}
