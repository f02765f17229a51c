import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { slidingWindow, splitRange, type Range } from '../../domain/base/concurrency';
import { profiles } from '../base/activity-profiles';
import { keyOf, type IterationContext } from './iteration-context';
import { rolloutReferences } from './rollout-tasks';

const store = proxyActivities<Activities>(profiles.store);

/** Judgements per activity: each takes seconds, and a retry repeats none that is stored. */
const judgementsPerActivity = 10;
const concurrency = 8;

/** Executes every candidate, judges it where a judge is configured, and admits it or rejects it with the reason. */
export async function validate(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const { providers, calibrates } = context.plan;
  await rolloutReferences(context, 'validation');
  if (providers) {
    const judge = proxyActivities<Activities>(profiles.llm(providers.judge));
    if (calibrates) await calibrate(context);
    const { tasks } = await store.countPlanned({ ...key, purpose: 'validation' });
    await inBatches(context, 'candidates', tasks, (range) => judge.judgeCandidates({ ...key, ...range }));
    if (providers.embedding) await proxyActivities<Activities>(profiles.llm(providers.embedding)).embedCandidates(key);
  }
  await store.admitTasks(key);
}

/** Measures the judge on reference trajectories and on corrupted ones, whose verdicts are known. */
async function calibrate(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const judge = proxyActivities<Activities>(profiles.llm(context.plan.providers!.judge));
  const { items } = await store.planCalibration(key);
  await proxyActivities<Activities>(profiles.rollout(context.environment)).playCalibration(key);
  await inBatches(context, 'calibration items', items, (range) => judge.judgeCalibration({ ...key, ...range }));
  await store.closeCalibration(key);
}

async function inBatches(
  { runner }: IterationContext,
  items: string,
  count: number,
  work: (range: Range) => Promise<unknown>,
): Promise<void> {
  let judged = 0;
  await slidingWindow(concurrency, splitRange({ from: 0, to: count }, judgementsPerActivity), async (range) => {
    await runner.unpaused();
    await work(range);
    judged += range.to - range.from;
    runner.note(`${judged} of ${count} ${items} judged`);
  });
}
