import { compareText } from '../../domain/compare-text';
import { pagesOf } from '../../domain/pages';
import { pairForFailureAgent, pairForTarget, type ExpertTrajectory } from '../../domain/pairs/pair-rules';
import { hasQuota, mergePairs } from '../../domain/pairs/merge-pairs';
import type { PairingResult } from '../../domain/pairs/select-pairs';
import { recipes } from '../../domain/campaign/recipe';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { AgentRole } from '../../domain/roles';
import type { ScoredAttempt } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { failurePairSettings, targetPairSettings } from '../../specification/pair-settings';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { createPause } from '../context/pause';
import { recordDrift } from './drift';

/**
 * Builds the preference pairs of an iteration for every agent that trains on pairs, as a pure function of stored rows. The
 * pairs of a task depend on its own attempts, so some tasks are read at a time; with a quota, which compares the pairs of
 * all tasks, all are read together.
 */
export const buildPreferencePairs =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { attemptGroups, preferencePairs, iterations } = deps.store;
    const { spec } = await getCampaign(deps, key.campaignId);
    const roles = recipes[spec.recipe].training.filter(({ data }) => data.startsWith('pairs')).map(({ role }) => role);
    const taskIds = (await attemptGroups.listPlayed(key.campaignId, key.iteration)).sort(compareText);
    const size = roles.some((role) => hasQuota(settingsOf(spec, role))) ? taskIds.length : tasksPerPage;
    const results = new Map(roles.map((role) => [role, [] as PairingResult[]]));
    const pause = createPause();
    for (const page of pagesOf(taskIds, size)) {
      const rows = await readPage(deps, key, page);
      for (const role of roles) results.get(role)!.push(pairPage(spec, key, role, rows));
      await pause();
    }
    for (const [role, parts] of results) await preferencePairs.save(key, role, mergePairs(parts));
    await recordDrift(deps, key, spec);
    await iterations.recordWork(key, 'pair', 'pairs');
  };

const tasksPerPage = 100;

type PlayedTasks = { attempts: ScoredAttempt[]; experts: ExpertTrajectory[] };

async function readPage(
  { store: { trajectories } }: Dependencies,
  { campaignId, iteration }: IterationKey,
  taskIds: readonly string[],
): Promise<PlayedTasks> {
  return {
    attempts: await trajectories.listScored(campaignId, iteration, iteration, taskIds),
    experts: await trajectories.listExperts(campaignId, taskIds),
  };
}

const settingsOf = ({ pairs, recipe }: CampaignSpec, role: AgentRole) =>
  role === 'failure' ? failurePairSettings(pairs) : targetPairSettings(pairs, recipe, role);

function pairPage(
  spec: CampaignSpec,
  { iteration }: IterationKey,
  role: AgentRole,
  { attempts, experts }: PlayedTasks,
): PairingResult {
  const seed = iterationSeed(spec, iteration, 'pairs', role);
  return role === 'failure'
    ? pairForFailureAgent({ attempts, seed }, failurePairSettings(spec.pairs))
    : pairForTarget({ attempts, experts, seed }, targetPairSettings(spec.pairs, spec.recipe, role));
}
