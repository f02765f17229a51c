import { cellCampaign, type CellName } from '../../domain/experiment/experiment';
import { hasEnded, type CampaignRow } from '../../store/campaign/campaigns';
import type { Dependencies } from '../context/dependencies';
import type { ExperimentChange } from '../../store/experiment/experiments';

/**
 * Stores the result of a cell whose campaign has ended, and returns the cell's status; `running` if it has not ended. A
 * campaign that ended before its last iteration gives no result, whatever its scores are.
 */
export const closeCell =
  ({ store, playedOn }: Dependencies) =>
  async ({
    experimentId,
    ...name
  }: CellName & { experimentId: number }): Promise<'running' | 'finished' | 'missing'> => {
    const { experiments, experimentCells, campaigns } = store;
    const stored = await experimentCells.find(experimentId, name);
    if (stored && stored.status !== 'running') return stored.status;
    const campaign = stored?.campaign ?? cellCampaign((await experiments.get(experimentId)).name, name);
    const cell = { experimentId, ...name, campaign };
    const row = await campaigns.find(campaign);
    if (row && !hasEnded(row.status)) return 'running';
    if (row?.status === 'finished') await experimentCells.finish(cell, row.id, await playedOn());
    else await experimentCells.markMissing(cell, reasonOf(campaign, row));
    return row?.status === 'finished' ? 'finished' : 'missing';
  };

function reasonOf(name: string, row: CampaignRow | undefined): string {
  if (!row) return `campaign ${name} was deleted`;
  return `campaign ${name} was ${row.status} by an operator; \`coevolve delete ${name}\` lets the cell be played again`;
}

/** Stores a change of an experiment's status, stopped arms and reason. */
export const recordExperiment =
  ({ store }: Dependencies) =>
  ({ experimentId, ...change }: { experimentId: number } & ExperimentChange): Promise<void> =>
    store.experiments.record(experimentId, change);
