import { DomainError } from '../../domain/errors';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { drawTasks, standingsOf, type Standing } from './draw-tasks';
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
    const { tasks } = deps.store;
    const { spec, name } = await getCampaign(deps, key.campaignId);
    const pool = await tasks.list(key.campaignId, { verdict: 'admitted' });

    if (key.iteration === 0) {
      const seeds = pool.filter(({ split, origin }) => split === 'train' && origin === 'seed');
      await tasks.plan(key, 'expert', idsOf(seeds.filter(({ referenceActions }) => referenceActions.length > 0)));
    } else {
      const standings = await standingsOf(deps, key, spec, drawable(spec, pool));
      if (standings.length === 0) throw emptyPool(name, drawable(spec, pool).length);
      await planTraining(deps, key, spec, standings);
    }
    await tasks.plan(key, 'evaluation', idsOf(pool.filter(({ evaluationSet }) => evaluationSet === 'dev')));
  };

const idsOf = (tasks: readonly TaskRow[]): string[] => tasks.map(({ id }) => id);

/** Returns the tasks that training draws from: only synthesized tasks if the first pool is synthesized. */
const drawable = ({ synthesis }: CampaignSpec, pool: readonly TaskRow[]): TaskRow[] =>
  pool.filter(({ split, origin }) => split === 'train' && (synthesis.initialTasks === null || origin !== 'seed'));

function emptyPool(name: string, retired: number): DomainError {
  const cause = retired === 0 ? 'no train task was admitted' : `all ${retired} have retired`;
  return new DomainError(
    'EmptyPool',
    `no task is left to play: ${cause}; see \`coevolve tasks ${name} --verdicts\`, and end the campaign with \`coevolve stop ${name}\``,
  );
}

async function planTraining(
  { store }: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  pool: readonly Standing[],
): Promise<void> {
  const seed = iterationSeed(spec, key.iteration, 'plan');
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  if (tasksPerStep === null || stepsPerIteration === null)
    // a recipe without RL steps plays one batch per iteration
    return store.tasks.plan(key, 'train', drawTasks(pool, tasksPerIteration, spec, createRandom(seed)));

  for (let step = 1; step <= stepsPerIteration; step++) {
    const batch = drawTasks(pool, tasksPerStep, spec, createRandom(deriveSeed(seed, step)));
    await store.tasks.plan(key, 'train', batch, { step, from: (step - 1) * tasksPerStep });
  }
}
