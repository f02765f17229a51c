import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { Phase } from '../../domain/campaign/phases';
import { profiles } from '../campaign/activity-profiles';
import { keyOf, type IterationContext, type IterationInput } from './iteration-context';
import { optimize } from './optimize';
import { phaseRunner } from './phase-runner';
import { rolloutReferences, rolloutTasks } from './collect-rollouts';
import { synthesize } from './synthesize';
import { trainAgents, trainStart } from './train-agents';
import { validate } from './validate';

const store = proxyActivities<Activities>(profiles.store);

export type IterationResult = {
  score: number | null;
  /** An operator stopped the campaign while a phase was parked: that phase and those after it were not done. */
  givenUp: boolean;
};

/** One turn of the loop. Every phase commits a row before the next begins; payloads carry ids and counts, never rows. */
export async function iteration(input: IterationInput): Promise<IterationResult> {
  const runner = phaseRunner(input);
  const plan = await runner.open();
  if (!plan) return { score: null, givenUp: true };
  const context: IterationContext = { ...input, plan, runner };
  for (const phase of plan.phases)
    if (!(await runner.run(phase, () => workOf[phase](context))))
      return { score: runner.progress.score, givenUp: true };
  return { score: runner.progress.score, givenUp: false };
}

/** Iteration 0 is the supervised start: experts play the seed tasks, and every agent learns to act from them. */
const isStart = ({ iteration: number }: IterationContext): boolean => number === 0;

const environmentsOf = ({ environment }: IterationContext) =>
  proxyActivities<Activities>(profiles.rollout(environment));

const workOf: Record<Phase, (context: IterationContext) => Promise<unknown>> = {
  async plan(context) {
    if (isStart(context)) await environmentsOf(context).seedTasks(keyOf(context));
    await store.planIteration(keyOf(context));
  },
  'roll-out': (context) =>
    isStart(context) ? rolloutReferences(context, 'expert') : rolloutTasks(context, 'train', context.plan.agents),
  optimize,
  detect: (context) => store.detectSignals(keyOf(context)),
  synthesize,
  validate,
  pair: (context) => store.buildPreferencePairs(keyOf(context)),
  train: (context) => (isStart(context) ? trainStart(context) : trainAgents(context)),
  async evaluate(context) {
    // Held-out tasks, then the gate: the candidate acts next, or the incumbent stays.
    await rolloutTasks(context, 'evaluation', ['target']);
    const { score } = await store.evaluatePolicy(keyOf(context));
    context.runner.progress.score = score;
  },
  async report(context) {
    await environmentsOf(context).retirePolicies(keyOf(context));
    await store.writeReport(keyOf(context));
  },
};
