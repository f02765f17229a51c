import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../activities';
import { rollOutWorkflowId } from '../domain/ids';
import type { AgentRole } from '../domain/roles';
import type { Purpose } from '../domain/trajectory';
import { profiles } from './activity-profiles';
import type { IterationContext } from './iteration-context';
import { executeOnce, settleAll } from './execute-once';
import { rollOut, type RollOutInput } from './roll-out';

const store = proxyActivities<Activities>(profiles.store);

/** Most activities of one shard: its history stays near 700 events, which the Temporal UI shows at once. */
const activitiesPerShard = 200;

/** Lets policies play the planned tasks; the agents play side by side. */
export async function playTasks(
  context: IterationContext,
  purpose: Purpose,
  roles: readonly AgentRole[],
): Promise<void> {
  const { campaignId, iteration, epoch } = context;
  const players = await store.choosePlayers({ campaignId, iteration, epoch, purpose, roles });
  await settleAll(
    players.map(({ role, policyId, ...size }) => playShards(context, { purpose, policyId, ...size }, role)),
  );
}

/** Plays the tasks' own reference actions: experts of seed tasks, proof of synthesized ones. */
export async function playReferences(context: IterationContext, purpose: 'expert' | 'validation'): Promise<void> {
  const { campaignId, iteration, epoch } = context;
  const { tasks, tasksPerActivity } = await store.countPlanned({ campaignId, iteration, epoch, purpose });
  await playShards(context, { purpose, policyId: null, tasks, tasksPerActivity }, 'reference');
}

type Part = Pick<RollOutInput, 'purpose' | 'policyId' | 'tasksPerActivity'> & { tasks: number };

async function playShards(context: IterationContext, part: Part, player: AgentRole | 'reference'): Promise<void> {
  const { name, campaignId, iteration, epoch, environment, runner } = context;
  const { tasks, ...rest } = part;
  const perShard = activitiesPerShard * part.tasksPerActivity;
  for (let from = 0; from < tasks; from += perShard) {
    await runner.unpaused();
    const shard = { purpose: part.purpose, player, number: from / perShard };
    const to = Math.min(tasks, from + perShard);
    await executeOnce(
      rollOut,
      { campaignId, iteration, epoch, environment, from, to, ...rest },
      {
        workflowId: rollOutWorkflowId(name, iteration, shard),
        staticSummary: `${player} plays ${to - from} ${part.purpose} tasks`,
        typedSearchAttributes: workflowInfo().typedSearchAttributes,
        whileRunning: runner.alsoTell,
      },
    );
  }
}
