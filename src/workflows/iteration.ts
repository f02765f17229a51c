import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities';
import { startPhases, type Recipe } from '../domain/recipe';
import { profiles } from './activity-profiles';
import type { IterationContext, IterationInput } from './iteration-context';
import { playReferences, playTasks } from './play-tasks';
import { phaseRunner } from './phase-runner';
import { trainAgents, trainStart } from './train-agents';

const store = proxyActivities<Activities>(profiles.store);
const patientStore = proxyActivities<Activities>(profiles.patientStore);
const llm = proxyActivities<Activities>(profiles.llm);

/** One turn of the loop. Every phase commits a row before the next begins; payloads carry ids and counts, never rows. */
export async function iteration(input: IterationInput): Promise<{ score: number | null }> {
  const { epoch, recipe } = await patientStore.openIteration(input);
  const planned = input.iteration === 0 ? startPhases : recipe.phases;
  const runner = phaseRunner({ ...input, epoch }, planned);
  const context: IterationContext = { ...input, epoch, runner };

  await (input.iteration === 0 ? supervisedStart(context, recipe) : coEvolve(context, recipe));
  return { score: runner.progress.score };
}

/** Iteration 0: experts play the seed tasks, and every agent learns to act from them. */
async function supervisedStart(context: IterationContext, recipe: Recipe): Promise<void> {
  const { runner, environment } = context;
  const key = keyOf(context);
  const environments = proxyActivities<Activities>(profiles.rollOut(environment));

  await runner.run('plan', async () => {
    await environments.seedTasks(key);
    await store.planIteration(key);
  });
  await runner.run('roll-out', () => playReferences(context, 'expert'));
  await runner.run('train', () => trainStart(context, recipe));
  await runner.run('evaluate', () => evaluate(context));
  await runner.run('report', () => report(context));
}

async function coEvolve(context: IterationContext, recipe: Recipe): Promise<void> {
  const { runner } = context;
  const key = keyOf(context);
  const within = (phase: Recipe['phases'][number], work: () => Promise<unknown>): Promise<void> =>
    recipe.phases.includes(phase) ? runner.run(phase, work) : Promise.resolve();

  await within('plan', () => store.planIteration(key));
  await within('roll-out', () => playTasks(context, 'train', recipe.agents));
  await within('detect', () => store.detectSignals(key));
  await within('synthesize', async () => {
    await Promise.all(recipe.aims.map((aim) => llm.synthesizeTasks({ ...key, aim })));
    await store.planValidation(key);
  });
  await within('validate', async () => {
    await playReferences(context, 'validation');
    await store.admitTasks(key);
  });
  await within('pair', () => store.buildPreferencePairs(key));
  await within('train', () => trainAgents(context, recipe));
  await within('evaluate', () => evaluate(context));
  await within('report', () => report(context));
}

async function report(context: IterationContext): Promise<void> {
  await proxyActivities<Activities>(profiles.rollOut(context.environment)).retirePolicies(keyOf(context));
  await store.writeReport(keyOf(context));
}

/** Held-out tasks, then the gate: the candidate acts next, or the incumbent stays. */
async function evaluate(context: IterationContext): Promise<void> {
  await playTasks(context, 'evaluation', ['target']);
  const { score } = await store.evaluatePolicy(keyOf(context));
  context.runner.progress.score = score;
}

const keyOf = ({ campaignId, iteration: number, epoch }: IterationContext) => ({
  campaignId,
  iteration: number,
  epoch,
});
