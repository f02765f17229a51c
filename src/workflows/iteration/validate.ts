import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { slidingWindow, splitRange, type Range } from '../../domain/base/concurrency';
import { profiles } from '../base/activity-profiles';
import { keyOf, type IterationContext } from './iteration-context';
import { rolloutReferences } from './rollout-tasks';

const store = proxyActivities<Activities>(profiles.store);

/** Candidates per activity: each takes seconds, and a retry repeats no stored result. */
const candidatesPerActivity = 10;
const concurrency = 8;

/** Executes every candidate, judges it where a judge is configured, and admits it or rejects it with the reason. */
export async function validate(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const { providers, calibrates, solves } = context.plan;
  await rolloutReferences(context, 'validation');
  if (providers) {
    const judge = proxyActivities<Activities>(profiles.llm(providers.judge));
    if (calibrates) await calibrate(context);
    const { tasks } = await store.countPlanned({ ...key, purpose: 'validation' });
    await inBatches(context, 'candidates judged', tasks, (range) => judge.judgeCandidates({ ...key, ...range }));
    if (solves) await solve(context);
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
  await inBatches(context, 'calibration items judged', items, (range) => judge.judgeCalibration({ ...key, ...range }));
  await store.closeCalibration(key);
}

/** A language model plays the candidates that a model wrote, of which it sees the query alone. */
async function solve(context: IterationContext): Promise<void> {
  const key = keyOf(context);
  const solver = proxyActivities<Activities>(profiles.llm(context.plan.providers!.solver));
  const { tasks } = await store.planSolving(key);
  await inBatches(context, 'candidates solved', tasks, (range) => solver.solveCandidates({ ...key, ...range }));
}

async function inBatches(
  { runner }: IterationContext,
  items: string,
  count: number,
  work: (range: Range) => Promise<unknown>,
): Promise<void> {
  let done = 0;
  await slidingWindow(concurrency, splitRange({ from: 0, to: count }, candidatesPerActivity), async (range) => {
    await runner.unpaused();
    await work(range);
    done += range.to - range.from;
    runner.note(`${done} of ${count} ${items}`);
  });
}
