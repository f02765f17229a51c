import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { RolloutAssignment } from '../../activities/rollout/choose-policies';
import { settleAll, slidingWindow, type Range } from '../../domain/concurrency';
import { rolloutWorkflowId } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/roles';
import { shardsOf, type ActivitySizes } from '../../domain/rollout/activity-ranges';
import type { Purpose } from '../../domain/rollout/trajectory';
import { profiles } from '../temporal/activity-profiles';
import { executeOnce } from '../temporal/execute-once';
import { keyOf, iterationName, type IterationContext } from './iteration-context';
import { rollout, type RolloutShard } from './rollout';

const store = proxyActivities<Activities>(profiles.store);

/** Shards at once: a long attempt of one holds back only the fourth one after it. */
const concurrentShards = 4;

/**
 * Rolls out the planned tasks with the policies of `roles`, all roles concurrently if the policy server holds all of
 * them at once.
 *
 * @param step RL step, from 1; 0 for other training
 */
export async function rolloutTasks(
  context: IterationContext,
  purpose: Purpose,
  roles: readonly AgentRole[],
  step = 0,
): Promise<void> {
  const assignments = await store.choosePolicies({ ...keyOf(context), purpose, roles, step });
  const rolloutWith = ({ role, policyId, range, tasksPerActivity, fewestTasks }: RolloutAssignment): Promise<void> =>
    rolloutShards(context, { purpose, policyId, step, tasksPerActivity, fewestTasks }, range, { player: role });
  if (assignments.some(({ inTurn }) => inTurn)) for (const assignment of assignments) await rolloutWith(assignment);
  else await settleAll(assignments.map(rolloutWith));
}

/** Plays the reference actions of the planned tasks: expert trajectories of seed tasks, validation of synthesized tasks. */
export async function rolloutReferences(
  context: IterationContext,
  purpose: 'expert' | 'validation',
  refill = 0,
): Promise<void> {
  const { tasks, earlier = 0, ...sizes } = await store.countPlanned({ ...keyOf(context), purpose, refill });
  const batch = { purpose, policyId: null, step: 0, ...sizes };
  await rolloutShards(context, batch, { from: earlier, to: tasks }, { player: 'reference', refill });
}

type Batch = Pick<RolloutShard, 'purpose' | 'policyId' | 'step'> & ActivitySizes;

async function rolloutShards(
  context: IterationContext,
  batch: Batch,
  range: Range,
  { player, refill = 0 }: { player: AgentRole | 'reference'; refill?: number },
): Promise<void> {
  const { environment, runner } = context;
  const { purpose, step } = batch;
  const rolloutShard = async ([number, { from, to }]: [number, Range]): Promise<void> => {
    await runner.unpaused();
    await executeOnce(
      rollout,
      { ...keyOf(context), environment, from, to, end: range.to, ...batch },
      {
        workflowId: rolloutWorkflowId(iterationName(context), { purpose, step, refill, player, number }),
        staticSummary: `Roll out ${to - from} ${purpose} tasks with ${player}`,
        typedSearchAttributes: workflowInfo().typedSearchAttributes,
        whileRunning: runner.forwardControlTo,
      },
    );
  };
  const concurrency = batch.fewestTasks === undefined ? 1 : concurrentShards;
  await slidingWindow(concurrency, shardsOf(range, batch).entries(), rolloutShard);
}
