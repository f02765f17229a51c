import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { slidingWindow, splitRange, type Range } from '../../domain/concurrency';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { profiles } from '../temporal/activity-profiles';
import { keyOf, type IterationContext } from './iteration-context';
import { rolloutReferences } from './rollout-tasks';
import { synthesize } from './synthesize';

const store = proxyActivities<Activities>(profiles.store);

/** Candidates per activity: each takes seconds, and a retry repeats no stored result. */
const candidatesPerActivity = 10;
const concurrency = 8;

/**
 * Validates the candidates and admits them or rejects them with the reason. While too few are admitted to match another
 * campaign, more are synthesized and validated.
 */
export async function validate(context: IterationContext): Promise<void> {
  const judge = { isCalibrated: false };
  let aims = await validateCandidates(context, 0, judge);
  for (let refill = 1; aims && aims.length > 0; refill++) {
    context.runner.note(`refill ${refill}: ${aims.join(', ')}`);
    await synthesize(context, { aims, refill });
    aims = await validateCandidates(context, refill, judge);
  }
}

/**
 * Executes every candidate of a refill, judges it where a judge is configured, and decides it. Returns the aims to refill.
 * The judge is calibrated before its first candidates, which a refill makes if the first synthesis made none.
 */
async function validateCandidates(
  context: IterationContext,
  refill: number,
  calibration: { isCalibrated: boolean },
): Promise<SynthesisAim[] | null> {
  const key = keyOf(context);
  const { providers, calibrates, solves } = context.plan;
  await rolloutReferences(context, 'validation', refill);
  if (providers) {
    const judge = proxyActivities<Activities>(profiles.llm(providers.judge));
    const isDue = calibrates && (refill === 0 || (!calibration.isCalibrated && patched('calibrate-in-refills')));
    if (isDue) calibration.isCalibrated = (await calibrate(context)) > 0;
    const { tasks, earlier = 0 } = await store.countPlanned({ ...key, purpose: 'validation', refill });
    const played = { from: earlier, to: tasks };
    await inBatches(context, 'candidates judged', played, (range) => judge.judgeCandidates({ ...key, ...range }));
    if (solves) await solve(context, refill);
    if (providers.embedding)
      await proxyActivities<Activities>(profiles.llm(providers.embedding)).embedCandidates({ ...key, refill });
  }
  return store.admitTasks({ ...key, refill });
}

/** Measures the judge on reference trajectories and on corrupted ones, whose verdicts are known. Returns their number. */
async function calibrate(context: IterationContext): Promise<number> {
  const key = keyOf(context);
  const judge = proxyActivities<Activities>(profiles.llm(context.plan.providers!.judge));
  const { items } = await store.planCalibration(key);
  await proxyActivities<Activities>(profiles.rollout(context.environment)).playCalibration(key);
  await inBatches(context, 'calibration items judged', { from: 0, to: items }, (range) =>
    judge.judgeCalibration({ ...key, ...range }),
  );
  await store.closeCalibration(key);
  return items;
}

/** A language model plays the candidates that a model wrote, of which it sees the query alone. */
async function solve(context: IterationContext, refill: number): Promise<void> {
  const key = keyOf(context);
  const solver = proxyActivities<Activities>(profiles.llm(context.plan.providers!.solver));
  const planned = await store.planSolving({ ...key, refill });
  await inBatches(context, 'candidates solved', planned, (range) => solver.solveCandidates({ ...key, ...range }));
}

async function inBatches(
  { runner }: IterationContext,
  items: string,
  { from, to }: Range,
  work: (range: Range) => Promise<unknown>,
): Promise<void> {
  let done = 0;
  await slidingWindow(concurrency, splitRange({ from, to }, candidatesPerActivity), async (range) => {
    await runner.unpaused();
    await work(range);
    done += range.to - range.from;
    runner.note(`${done} of ${to - from} ${items}`);
  });
}
