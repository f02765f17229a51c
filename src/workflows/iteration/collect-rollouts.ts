import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { rolloutWorkflowId } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/campaign/roles';
import type { Purpose } from '../../domain/rollout/trajectory';
import { profiles } from '../campaign/activity-profiles';
import { executeOnce, settleAll } from './execute-once';
import { keyOf, nameOf, type IterationContext } from './iteration-context';
import { rollout, type RolloutShard } from './rollout';

const store = proxyActivities<Activities>(profiles.store);

/** Most activities of one shard: its history stays near 700 events, which the Temporal UI shows at once. */
const activitiesPerShard = 200;

/** Lets policies play the planned tasks, of one step where the plan has steps; the agents play side by side. */
export async function rolloutTasks(
  context: IterationContext,
  purpose: Purpose,
  roles: readonly AgentRole[],
  step = 0,
): Promise<void> {
  const players = await store.choosePlayers({ ...keyOf(context), purpose, roles, step });
  await settleAll(
    players.map(({ role, policyId, ...size }) => playShards(context, { purpose, policyId, step, ...size }, role)),
  );
}

/** Plays the tasks' own reference actions: experts of seed tasks, proof of synthesized ones. */
export async function rolloutReferences(context: IterationContext, purpose: 'expert' | 'validation'): Promise<void> {
  const { tasks, tasksPerActivity } = await store.countPlanned({ ...keyOf(context), purpose });
  const part = { purpose, policyId: null, step: 0, from: 0, tasks, tasksPerActivity };
  await playShards(context, part, 'reference');
}

type Part = Pick<RolloutShard, 'purpose' | 'policyId' | 'step' | 'from' | 'tasksPerActivity'> & { tasks: number };

async function playShards(context: IterationContext, part: Part, player: AgentRole | 'reference'): Promise<void> {
  const { environment, runner } = context;
  const { tasks, from: first, ...rest } = part;
  const perShard = activitiesPerShard * part.tasksPerActivity;
  for (let done = 0; done < tasks; done += perShard) {
    await runner.unpaused();
    const shard = { purpose: part.purpose, step: part.step, player, number: done / perShard };
    const stretch = { from: first + done, to: first + Math.min(tasks, done + perShard) };
    await executeOnce(
      rollout,
      { ...keyOf(context), environment, ...stretch, ...rest },
      {
        workflowId: rolloutWorkflowId(nameOf(context), shard),
        staticSummary: `${player} plays ${stretch.to - stretch.from} ${part.purpose} tasks`,
        typedSearchAttributes: workflowInfo().typedSearchAttributes,
        whileRunning: runner.forwardControlTo,
      },
    );
  }
}
