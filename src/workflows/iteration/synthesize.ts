import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { ProviderByRole } from '../../domain/campaign/iteration-plan';
import { explorationWorkflowId } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { offlineProvider } from '../../domain/campaign/task-queues';
import { profiles } from '../campaign/activity-profiles';
import { executeOnce, settleAll } from './execute-once';
import { explore } from './explore';
import { keyOf, nameOf, type IterationContext } from './iteration-context';

const store = proxyActivities<Activities>(profiles.store);
const offline = proxyActivities<Activities>(profiles.llm(offlineProvider));

/** Contexts of one shard, some seven activities each: its history stays near 1,000 events. */
const contextsPerShard = 25;

/** Candidate tasks for every aim: by language models, or by the environment's own generator where none is configured. */
export async function synthesize(context: IterationContext): Promise<void> {
  const { aims, providers } = context.plan;
  await settleAll(
    aims.map((aim) =>
      providers ? exploreFor(context, aim, providers) : offline.synthesizeTasks({ ...keyOf(context), aim }),
    ),
  );
  await store.planValidation(keyOf(context));
}

async function exploreFor(context: IterationContext, aim: SynthesisAim, providers: ProviderByRole): Promise<void> {
  const { runner } = context;
  const { contexts } = await store.planExploration({ ...keyOf(context), aim });
  for (let from = 0; from < contexts; from += contextsPerShard) {
    await runner.unpaused();
    const to = Math.min(contexts, from + contextsPerShard);
    const input = { ...keyOf(context), aim, from, to, rounds: context.plan.explorationRounds, providers };
    await executeOnce(explore, input, {
      workflowId: explorationWorkflowId(nameOf(context), aim, from / contextsPerShard),
      staticSummary: `Explore ${to - from} contexts for ${aim}`,
      typedSearchAttributes: workflowInfo().typedSearchAttributes,
      whileRunning: runner.forwardControlTo,
    });
  }
}
