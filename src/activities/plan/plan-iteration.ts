import { DomainError } from '../../domain/errors';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import { drawableTasks, drawsSeeds, type DrawableTasks } from './draw-tasks';
import { zeroCandidates } from '../../domain/tasks/zero-candidates';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Stores the plan of an iteration once. Iteration 0 plays the reference actions of every seed task. A later iteration
 * plays the pool or a draw from it, or one draw per RL step. Every iteration is evaluated on the set dev.
 *
 * @throws DomainError `EmptyPool` when the pool has no task to play
 */
export const planIteration =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { tasks, pools } = deps.store;
    const { spec, name } = await getCampaign(deps, key.campaignId);
    if (key.iteration === 0) await tasks.plan(key, 'expert', await pools.listReferences(key.campaignId));
    else {
      const drawable = await drawableTasks(deps, key, spec);
      if (drawable.size === 0) throw await emptyPool(deps, key, { name, spec });
      await planTraining(deps, key, spec, drawable);
    }
    await tasks.plan(key, 'evaluation', await pools.listEvaluated(key.campaignId, 'dev'));
  };

type Planned = { name: string; spec: CampaignSpec };

async function emptyPool(
  { store }: Dependencies,
  { campaignId }: IterationKey,
  planned: Planned,
): Promise<DomainError> {
  const retired = await store.pools.countAdmitted(campaignId, drawsSeeds(planned.spec));
  const cause = retired > 0 ? `all ${retired} have retired` : await causeOfNoTask(store, campaignId, planned);
  const { name } = planned;
  return new DomainError(
    'EmptyPool',
    `no task is left to play: ${cause}; see \`coevolve tasks ${name} --verdicts\`, and end the campaign with \`coevolve stop ${name}\``,
  );
}

/** Nothing was ever admitted, so the first pool is empty. */
async function causeOfNoTask(
  store: Dependencies['store'],
  campaignId: number,
  { name, spec }: Planned,
): Promise<string> {
  const losses = await store.synthesisLosses.get(campaignId, 0);
  const settings = { hasModels: spec.llm !== null, ...spec.synthesis };
  const cause = losses.candidates === 0 ? ` (${zeroCandidates(name, settings, losses)})` : '';
  return `no train task was admitted${cause}`;
}

async function planTraining(
  { store }: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  drawable: DrawableTasks,
): Promise<void> {
  const seed = iterationSeed(spec, key.iteration, 'plan');
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  if (tasksPerStep === null || stepsPerIteration === null) {
    // a recipe without RL steps plays one batch per iteration
    const [batch] = await drawable.draw([{ limit: tasksPerIteration, random: createRandom(seed) }]);
    return store.tasks.plan(key, 'train', batch!);
  }
  const steps = Array.from({ length: stepsPerIteration }, (_, i) => i + 1);
  const batches = await drawable.draw(
    steps.map((step) => ({ limit: tasksPerStep, random: createRandom(deriveSeed(seed, step)) })),
  );
  for (const [i, step] of steps.entries())
    await store.tasks.plan(key, 'train', batches[i]!, { step, from: i * tasksPerStep });
}
