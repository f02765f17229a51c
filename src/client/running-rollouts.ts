import { isPlayedIn, type AttemptProgress } from '../domain/campaign/attempt-progress';
import { plannedPerTask } from '../specification/iteration-plan';
import { readStoredSpec } from '../specification/read-spec';
import type { CampaignRow } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import type { Connections } from './connections';

/** Counts the stored and the planned attempts of the running phase, by purpose; in reinforcement learning only of the newest step. */
export async function listRunningRollouts(
  { store }: Pick<Connections, 'store'>,
  { id: campaignId, spec: stored }: Pick<CampaignRow, 'id' | 'spec'>,
  phases: readonly PhaseRow[],
): Promise<AttemptProgress[]> {
  const running = phases.find(({ finishedAt }) => !finishedAt);
  if (!running) return [];
  const { iteration, phase } = running;
  const spec = readStoredSpec(stored);
  const planned = await store.attemptCounts.listRollouts({ campaignId, iteration });
  return Promise.all(
    planned
      .filter(({ purpose }) => isPlayedIn(phase, purpose))
      .map(async ({ purpose, step }) => {
        const rollout = { campaignId, iteration, purpose, step };
        return { ...rollout, ...(await store.attemptCounts.count(rollout, plannedPerTask(rollout, spec))) };
      }),
  );
}
