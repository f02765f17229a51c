import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess, startTimeOf } from '../../src/process/processes';
import type { ChaosStack } from './chaos-stack';
import { openWorkflows, type BegunActivity } from './open-workflows';
import { ifThere } from './progress';
import { runningTrainers } from './running-trainers';

const sampleEveryMs = 100;

export type EffectiveTime = { samples: number; busy: number };

/**
 * Samples ten times a second whether work that the campaigns are for is being done: a trainer lives, or a live worker
 * has begun to play attempts while the servers that it plays against live. Read from processes and from what Temporal
 * knows as begun, not from what somebody means to do.
 */
export async function sampleEffectiveTime(
  stack: ChaosStack,
  names: readonly string[],
  signal: AbortSignal,
): Promise<EffectiveTime> {
  const { home, artifacts } = stack.config;
  let playing: BegunActivity[] = [];
  const learned = (async () => {
    while (!signal.aborted) {
      const open = await ifThere(() => openWorkflows(stack.client)); // while Temporal is away, workers play on
      if (open) playing = open.flatMap(({ begun }) => begun).filter(({ type }) => type === 'collectRollouts');
      await sleep(250);
    }
  })();
  const share: EffectiveTime = { samples: 0, busy: 0 };
  while (!signal.aborted) {
    const canPlay = ['environment-server', 'policy-server'].every((name) => findProcess(home, name));
    const plays = canPlay && playing.some(({ pid }) => startTimeOf(pid) !== undefined);
    if (plays || runningTrainers(artifacts, names).length > 0) share.busy++;
    share.samples++;
    await sleep(sampleEveryMs);
  }
  await learned;
  return share;
}
