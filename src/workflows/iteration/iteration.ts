import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { Phase } from '../../domain/campaign/phases';
import type { IterationProgress } from '../../domain/campaign/progress';
import { profiles } from '../temporal/activity-profiles';
import { keyOf, type IterationContext } from './iteration-context';
import { optimize } from './optimize';
import { phaseRunner, type IterationInput } from './phase-runner';
import { rolloutReferences, rolloutTasks } from './rollout-tasks';
import { synthesize } from './synthesize';
import { trainAgents, trainOverdue, trainStart } from './train-agents';
import { validate } from './validate';

const store = proxyActivities<Activities>(profiles.store);

export type IterationResult = {
  /** Success of the active policy on dev, in [0, 1]; null without an evaluation. */
  score: number | null;
  /** True if an operator stopped the campaign at a parked phase: that phase and the later ones were not run. */
  givenUp: boolean;
  /** Progress at the end; absent before the first phase. */
  progress?: IterationProgress;
};

/** Runs one iteration. Every phase commits a row before the next begins; payloads carry ids and counts, never rows. */
export async function iteration(input: IterationInput): Promise<IterationResult> {
  const runner = phaseRunner(input);
  const plan = await runner.open();
  if (!plan) return { score: null, givenUp: true };
  const context: IterationContext = { ...input, plan, runner };
  for (const phase of plan.phases)
    if (!(await runner.run(phase, () => workOf[phase](context))))
      return { progress: runner.progress, score: runner.progress.score, givenUp: true };
  return { progress: runner.progress, score: runner.progress.score, givenUp: false };
}

/** Iteration 0 is the supervised start: every agent is trained on expert trajectories of the seed tasks. */
const isStart = ({ iteration: number }: IterationContext): boolean => number === 0;

const environmentOf = ({ environment }: IterationContext) => proxyActivities<Activities>(profiles.rollout(environment));

const workOf: Record<Phase, (context: IterationContext) => Promise<unknown>> = {
  async plan(context) {
    if (isStart(context)) await environmentOf(context).seedTasks(keyOf(context));
    await trainOverdue(context);
    await store.planIteration(keyOf(context));
  },
  rollout: (context) =>
    isStart(context) ? rolloutReferences(context, 'expert') : rolloutTasks(context, 'train', context.plan.agents),
  optimize,
  detect: (context) => store.detectSignals(keyOf(context)),
  synthesize: (context) => synthesize(context),
  validate,
  pair: (context) => store.buildPreferencePairs(keyOf(context)),
  train: (context) => (isStart(context) ? trainStart(context) : trainAgents(context)),
  async evaluate(context) {
    await rolloutTasks(context, 'evaluation', ['target']);
    const { score, low, high, promotion } = await store.evaluatePolicy(keyOf(context)); // promotes the candidate or keeps the incumbent
    Object.assign(context.runner.progress, {
      score,
      ...(promotion ? { promotion } : {}),
      ...(low === undefined || high === undefined ? {} : { interval: { low, high } }),
    });
    await store.planTest(keyOf(context)); // after the decision, which therefore cannot read these scores
    await rolloutTasks(context, 'test', ['target']);
    await store.scoreTest(keyOf(context));
  },
  async report(context) {
    await environmentOf(context).unloadPolicies(keyOf(context));
    await store.writeReport(keyOf(context));
  },
};
