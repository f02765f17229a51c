import { DomainError } from '../../domain/base/errors';
import { createRandom } from '../../domain/base/seeded-random';
import { deriveSeed } from '../../domain/base/seed-tree';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { drawTasks, standingsOf, type Standing } from './draw-tasks';
import { getCampaign, type Dependencies } from '../base/dependencies';

/**
 * Writes down once which tasks an iteration plays. The start plays every seed task's reference actions; a later
 * iteration plays the pool or a draw from it, or a draw per step of reinforcement learning. Every iteration is evaluated
 * on all held-out tasks.
 *
 * @throws DomainError `EmptyPool` when no task is left to play
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
    await tasks.plan(key, 'evaluation', idsOf(pool.filter(({ split }) => split === 'held-out')));
  };

const idsOf = (tasks: readonly TaskRow[]): string[] => tasks.map(({ id }) => id);

/** The tasks that training draws from: synthetic ones alone where the recipe begins with such. */
const drawable = ({ synthesis }: CampaignSpec, pool: readonly TaskRow[]): TaskRow[] =>
  pool.filter(({ split, origin }) => split === 'train' && (synthesis.initialTasks === null || origin !== 'seed'));

function emptyPool(name: string, retired: number): DomainError {
  const why = retired === 0 ? 'none was admitted that training may draw' : `all ${retired} have retired`;
  return new DomainError(
    'EmptyPool',
    `no task is left to play: ${why}; see \`coevolve tasks ${name} --verdicts\`, and end the campaign with \`coevolve stop ${name}\``,
  );
}

async function planTraining(
  { store }: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  pool: readonly Standing[],
): Promise<void> {
  const seed = deriveSeed(spec.seed, key.iteration, 'plan');
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  if (tasksPerStep === null || stepsPerIteration === null)
    // no recipe of steps: an iteration is one batch
    return store.tasks.plan(key, 'train', drawTasks(pool, tasksPerIteration, spec, createRandom(seed)));

  for (let step = 1; step <= stepsPerIteration; step++) {
    const batch = drawTasks(pool, tasksPerStep, spec, createRandom(deriveSeed(seed, step)));
    await store.tasks.plan(key, 'train', batch, { step, from: (step - 1) * tasksPerStep });
  }
}
