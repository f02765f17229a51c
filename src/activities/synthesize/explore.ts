import { cancellationSignal } from '@temporalio/activity';
import { DomainError } from '../../domain/errors';
import type { ExplorationOutcome } from '../../domain/tasks/exploration';
import { explorationRunId } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { IterationKey } from '../../store/campaign/iterations';
import { knownTasks } from './known-tasks';
import { taskLength } from './task-length';
import { playRun } from './play-run';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { requireUsefulAnswers } from '../context/useless-answers';

export type ExploreInput = IterationKey & { contextId: string; round: number };

/** `outcome` is null if the reflection failed, so that there was nothing to explore. */
export type Explored = { outcome: ExplorationOutcome | null; turns: number };

/**
 * Runs a model in a fresh session of the context's environment with the prompt template of its signal (arXiv:2604.15840,
 * section 3.2), and stores the run when it has ended. The prompt shows the earlier runs of the context and the nearest goals
 * of the pool, from stored rows.
 *
 * @throws DomainError `UselessAnswers` once the last answers of the explorer could not be used
 *
 * Idempotent: a stored run is returned. An interrupted run restarts from the beginning; the answers of its model calls
 * are stored, so that no call is paid twice.
 */
export const explore =
  (deps: Dependencies) =>
  async ({ contextId, round, ...key }: ExploreInput): Promise<Explored> => {
    const { exploration, tasks } = deps.store;
    const runId = explorationRunId(contextId, round);
    const stored = await exploration.findRun(key.campaignId, runId);
    if (stored) return summary(stored);
    const context = await exploration.getContext(key.campaignId, contextId);
    if (context.status === 'failed') return { outcome: null, turns: 0 };
    if (context.status === 'planned' && context.aim !== 'random')
      throw new DomainError('NotReflected', `${contextId} cannot be explored: it has no reflection yet`);

    const { spec } = await getCampaign(deps, key.campaignId);
    const task = await tasks.get(key.campaignId, context.taskId);
    const seed = iterationSeed(spec, key.iteration, 'explore', context.aim, context.ordinal, round);
    const signal = cancellationSignal();
    const run = await playRun(deps, {
      key,
      spec,
      aim: context.aim,
      reflection: context.context,
      task,
      runId,
      round,
      seed,
      signal,
      earlierRuns: await earlierRuns(deps, key, contextId, round),
      ...(await knownTasks(deps, key, spec, { ...context, goal: task.goal })),
      length: await taskLength(deps.environmentData, spec, signal),
    });
    const ended = summary(await exploration.saveRun(key, { contextId, round, seed, ...run }));
    const isUnusable = run.outcome === 'refused' || run.outcome === 'cut-off';
    if (isUnusable || run.turns.some(({ action }) => action === ''))
      await requireUsefulAnswers(deps, spec, key, 'explorer');
    return ended;
  };

const summary = ({ outcome, turns }: { outcome: ExplorationOutcome; turns: number }): Explored => ({ outcome, turns });

/** @throws DomainError `RunTooEarly`: the prompt would depend on which runs happen to be stored */
async function earlierRuns({ store }: Dependencies, { campaignId }: IterationKey, contextId: string, round: number) {
  const runs = (await store.exploration.listRuns(campaignId, contextId)).filter((run) => run.round < round);
  if (runs.length === round) return runs;
  throw new DomainError(
    'RunTooEarly',
    `run ${round} of ${contextId} cannot start: found ${runs.length} earlier runs, expected ${round}`,
  );
}
