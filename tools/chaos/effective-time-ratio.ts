import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess, startTimeOf } from '../../src/process/processes';
import type { ChaosStack } from './chaos-stack';
import { openWorkflows, type BegunActivity } from './open-workflows';
import { unlessUnavailable } from './progress';
import { runningTrainers } from './running-trainers';

const sampleEveryMs = 100;

export type EffectiveTime = { samples: number; busy: number };

/**
 * Samples ten times per second whether effective work is done: a trainer runs, or a running worker has started to play
 * attempts while the environment server and the policy server run. The samples use processes and started activities.
 */
export async function sampleEffectiveTime(
  stack: ChaosStack,
  names: readonly string[],
  signal: AbortSignal,
): Promise<EffectiveTime> {
  const { home, artifacts } = stack.config;
  let playing: BegunActivity[] = [];
  const polling = (async () => {
    while (!signal.aborted) {
      const open = await unlessUnavailable(() => openWorkflows(stack.client)); // while Temporal is unavailable, workers continue to play
      if (open) playing = open.flatMap(({ begun }) => begun).filter(({ type }) => type === 'collectRollouts');
      await sleep(250);
    }
  })();
  const share: EffectiveTime = { samples: 0, busy: 0 };
  while (!signal.aborted) {
    const canPlay = ['environment-server', 'policy-server'].every((name) => findProcess(home, name));
    const isPlaying = canPlay && playing.some(({ pid }) => startTimeOf(pid) !== undefined);
    if (isPlaying || runningTrainers(artifacts, names).length > 0) share.busy++;
    share.samples++;
    await sleep(sampleEveryMs);
  }
  await polling;
  return share;
}
