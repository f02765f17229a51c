import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { profiles } from '../campaign/activity-profiles';
import { settleAll } from './execute-once';
import { keyOf, type IterationContext } from './iteration-context';
import { rolloutReferences } from './collect-rollouts';

const store = proxyActivities<Activities>(profiles.store);

/** Subjects per activity of the judge: each is a call of seconds, and a retry repeats none that was answered. */
const judgedPerActivity = 10;
const window = 8;

/** Every candidate is executed, judged where a judge is configured, and admitted or rejected with its reason. */
export async function validate(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const { providers, calibrates } = context.plan;
  await rolloutReferences(context, 'validation');
  if (providers) {
    const judge = proxyActivities<Activities>(profiles.llm(providers.judge));
    if (calibrates) await calibrate(context);
    const { tasks } = await store.countPlanned({ ...key, purpose: 'validation' });
    await inStretches(context, tasks, (stretch) => judge.judgeCandidates({ ...key, ...stretch }));
    if (providers.embedding) await proxyActivities<Activities>(profiles.llm(providers.embedding)).embedCandidates(key);
  }
  await store.admitTasks(key);
}

/** How far the judge can be trusted: gold trajectories and broken ones, whose verdicts are known. */
async function calibrate(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const judge = proxyActivities<Activities>(profiles.llm(context.plan.providers!.judge));
  const { items } = await store.planCalibration(key);
  await proxyActivities<Activities>(profiles.rollout(context.environment)).playCalibration(key);
  await inStretches(context, items, (stretch) => judge.judgeCalibration({ ...key, ...stretch }));
  await store.closeCalibration(key);
}

type Stretch = { from: number; to: number };

async function inStretches(
  { runner }: IterationContext,
  count: number,
  work: (stretch: Stretch) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const stretch = { from: next, to: Math.min(count, next + judgedPerActivity) };
      next = stretch.to;
      await runner.unpaused();
      await work(stretch);
    }
  };
  await settleAll(Array.from({ length: window }, worker));
}
