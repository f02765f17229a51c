import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { RolloutAssignment } from '../../activities/rollout/choose-policies';
import { settleAll, splitRange, type Range } from '../../domain/concurrency';
import { rolloutWorkflowId } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/roles';
import type { Purpose } from '../../domain/rollout/trajectory';
import { profiles } from '../temporal/activity-profiles';
import { executeOnce } from '../temporal/execute-once';
import { keyOf, iterationName, type IterationContext } from './iteration-context';
import { rollout, type RolloutShard } from './rollout';

const store = proxyActivities<Activities>(profiles.store);

/** Keeps the history of a shard near 700 events, which the Temporal UI shows on one page. */
const activitiesPerShard = 200;

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
  const rolloutWith = ({ role, policyId, range, tasksPerActivity }: RolloutAssignment): Promise<void> =>
    rolloutShards(context, { purpose, policyId, step, tasksPerActivity }, range, { player: role });
  if (assignments.some(({ inTurn }) => inTurn)) for (const assignment of assignments) await rolloutWith(assignment);
  else await settleAll(assignments.map(rolloutWith));
}

/** Plays the reference actions of the planned tasks: expert trajectories of seed tasks, validation of synthesized tasks. */
export async function rolloutReferences(
  context: IterationContext,
  purpose: 'expert' | 'validation',
  refill = 0,
): Promise<void> {
  const { tasks, tasksPerActivity, earlier = 0 } = await store.countPlanned({ ...keyOf(context), purpose, refill });
  const batch = { purpose, policyId: null, step: 0, tasksPerActivity };
  await rolloutShards(context, batch, { from: earlier, to: tasks }, { player: 'reference', refill });
}

type Batch = Pick<RolloutShard, 'purpose' | 'policyId' | 'step' | 'tasksPerActivity'>;

async function rolloutShards(
  context: IterationContext,
  batch: Batch,
  range: Range,
  { player, refill = 0 }: { player: AgentRole | 'reference'; refill?: number },
): Promise<void> {
  const { environment, runner } = context;
  const { purpose, step, tasksPerActivity } = batch;
  for (const [number, { from, to }] of [...splitRange(range, activitiesPerShard * tasksPerActivity)].entries()) {
    await runner.unpaused();
    await executeOnce(
      rollout,
      { ...keyOf(context), environment, from, to, ...batch },
      {
        workflowId: rolloutWorkflowId(iterationName(context), { purpose, step, refill, player, number }),
        staticSummary: `Roll out ${to - from} ${purpose} tasks with ${player}`,
        typedSearchAttributes: workflowInfo().typedSearchAttributes,
        whileRunning: runner.forwardControlTo,
      },
    );
  }
}
