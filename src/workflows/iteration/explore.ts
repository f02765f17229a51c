import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { ProviderByRole } from '../../domain/campaign/iteration-plan';
import { explorationContextId } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { profiles } from '../campaign/activity-profiles';
import { settleAll } from './execute-once';
import type { IterationKey } from './iteration-context';
import { controlSignal } from '../messages';

export type ExploreInput = IterationKey & {
  aim: SynthesisAim;
  /** Places among the contexts of the aim, `to` not included. */
  from: number;
  to: number;
  rounds: number;
  providers: ProviderByRole;
};

/** Contexts in flight: the pace of a provider is kept by its workers, this only bounds what a pause waits for. */
const window = 8;

/** From flagged trajectories to candidate tasks: reflect, explore in several runs, abstract (arXiv:2604.15840, 3.2, 3.3). */
export async function explore({ aim, from, to, rounds, providers, ...key }: ExploreInput): Promise<void> {
  const asked = (purpose: 'reflector' | 'explorer' | 'abstractor') =>
    proxyActivities<Activities>(profiles.llm(providers[purpose]));
  let paused = false;
  setHandler(controlSignal, (control) => {
    paused = control.paused;
  });

  const exploreOne = async (contextId: string): Promise<void> => {
    const runs = Array.from({ length: rounds }, (_, round) => asked('explorer').explore({ ...key, contextId, round }));
    await settleAll(runs);
    await asked('abstractor').abstractTasks({ ...key, contextId });
  };

  let next = from;
  let done = 0;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const contextId = explorationContextId(key.iteration, aim, next++);
      await condition(() => !paused);
      if (aim === 'random' || (await asked('reflector').reflect({ ...key, contextId })).usable)
        await exploreOne(contextId);
      done += 1;
      setCurrentDetails(`${done} of ${to - from} contexts explored`);
    }
  };
  await settleAll(Array.from({ length: window }, worker));
}
