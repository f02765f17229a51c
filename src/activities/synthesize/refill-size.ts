import { aimOfTask } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { explorationSize, type ExplorationSize } from '../../domain/tasks/exploration';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { enabledSignals, timesOf } from '../../specification/iteration-plan';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';
import { matchGroups, missingOf } from '../validate/match-groups';
import { sizeOf } from './source-tasks';

/**
 * Returns the number of candidates and contexts that an aim needs in a refill for the tasks that are still missing, at the
 * yield of the iteration so far; never more than its first synthesis could have. A refill of 0 is that first synthesis.
 */
export async function refillSizeOf(
  deps: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  { aim, refill }: { aim: SynthesisAim; refill: number },
): Promise<ExplorationSize> {
  if (refill === 0) return sizeOf(deps, key, spec, aim);
  const flagged = enabledSignals(spec).map(() => Number.POSITIVE_INFINITY);
  const limit = explorationSize({ aim, iteration: key.iteration, flagged, times: timesOf(spec) }, spec.synthesis);
  const groups = (await matchGroups(deps.store, spec, key, refill)) ?? [];
  const group = groups.find(({ aims }) => aims.includes(aim));
  const missing = group ? Math.ceil(missingOf(group) / group.aims.length) : 0;
  if (missing === 0) return { candidates: 0, contexts: 0 };

  const all = await deps.store.tasks.list(key.campaignId, { createdIteration: key.iteration });
  const made = all.filter((task) => task.origin !== 'seed' && aimOfTask(task.id) === aim && task.refill < refill);
  const admitted = made.filter(({ verdict }) => verdict === 'admitted').length;
  const explored = await deps.store.exploration.countContexts(key, aim, refill - 1);
  const needed = (spent: number, max: number): number =>
    admitted === 0 ? max : Math.min(max, Math.ceil((missing * spent) / admitted));
  return { candidates: needed(made.length, limit.candidates), contexts: needed(explored, limit.contexts) };
}
