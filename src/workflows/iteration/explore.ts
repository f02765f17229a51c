import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { slidingWindow, splitRange, type Range } from '../../domain/concurrency';
import { explorationContextId } from '../../domain/campaign/ids';
import type { ProviderByPurpose } from '../../domain/campaign/iteration-plan';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { profiles } from '../temporal/activity-profiles';
import { handleControl } from '../temporal/control';
import type { IterationKey } from './iteration-context';

/** `from` and `to` are indices among the contexts of the aim. */
export type ExploreInput = IterationKey & Range & { aim: SynthesisAim; rounds: number; providers: ProviderByPurpose };

/** Concurrent contexts. Workers enforce the rate limits of a provider; this bounds how long a pause takes. */
const concurrency = 8;

/** Turns flagged trajectories into candidate tasks: reflect, explore in several runs, abstract (arXiv:2604.15840, 3.2, 3.3). */
export async function explore({ aim, from, to, rounds, providers, ...key }: ExploreInput): Promise<void> {
  const modelOf = (purpose: 'reflector' | 'explorer' | 'abstractor') =>
    proxyActivities<Activities>(profiles.llm(providers[purpose]));
  const control = handleControl();

  let explored = 0;
  await slidingWindow(concurrency, splitRange({ from, to }, 1), async ({ from: ordinal }) => {
    const contextId = explorationContextId(key.iteration, aim, ordinal);
    await control.unpaused();
    if (aim === 'random' || (await modelOf('reflector').reflect({ ...key, contextId })).usable) {
      for (let round = 0; round < rounds; round++)
        // a run sees the earlier ones
        await modelOf('explorer').explore({ ...key, contextId, round });
      await modelOf('abstractor').abstractTasks({ ...key, contextId });
    }
    explored += 1;
    setCurrentDetails(`${explored} of ${to - from} contexts explored`);
  });
}
