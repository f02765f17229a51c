import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { settleAll, splitRange } from '../../domain/concurrency';
import { explorationWorkflowId } from '../../domain/campaign/ids';
import type { ProviderByPurpose } from '../../domain/campaign/iteration-plan';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { offlineProvider } from '../../domain/campaign/task-queues';
import { profiles } from '../temporal/activity-profiles';
import { executeOnce } from '../temporal/execute-once';
import { explore } from './explore';
import { keyOf, iterationName, type IterationContext } from './iteration-context';

const store = proxyActivities<Activities>(profiles.store);
const offline = proxyActivities<Activities>(profiles.llm(offlineProvider));

/** About seven activities per context keep the history of a shard near 1,000 events. */
const contextsPerShard = 25;

/**
 * Creates candidate tasks for every aim: with language models, or with the environment's own generator without them.
 *
 * @param refill from 1 when the candidates so far were too few; `aims` are then those that need more
 */
export async function synthesize(
  context: IterationContext,
  { aims, refill }: Synthesis = { aims: context.plan.aims, refill: 0 },
): Promise<void> {
  const { providers } = context.plan;
  await settleAll(
    aims.map((aim) =>
      providers
        ? exploreShards(context, { aim, refill }, providers)
        : offline.synthesizeTasks({ ...keyOf(context), aim, refill }),
    ),
  );
  await store.planValidation({ ...keyOf(context), refill });
}

type Synthesis = { aims: readonly SynthesisAim[]; refill: number };

async function exploreShards(
  context: IterationContext,
  { aim, refill }: { aim: SynthesisAim; refill: number },
  providers: ProviderByPurpose,
): Promise<void> {
  const { plan, runner } = context;
  const { contexts, first = 0 } = await store.planExploration({ ...keyOf(context), aim, refill });
  for (const [number, range] of [...splitRange({ from: first, to: contexts }, contextsPerShard)].entries()) {
    await runner.unpaused();
    const input = { ...keyOf(context), ...range, aim, rounds: plan.explorationRounds, providers };
    await executeOnce(explore, input, {
      workflowId: explorationWorkflowId(iterationName(context), aim, { number, refill }),
      staticSummary: `Explore ${range.to - range.from} contexts for ${aim}`,
      typedSearchAttributes: workflowInfo().typedSearchAttributes,
      whileRunning: runner.forwardControlTo,
    });
  }
}
