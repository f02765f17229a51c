import { Analysis, Cell, Experiment, Score } from '../rows/training-rows';
import { seed, whole, word } from '../request/parameters';
import type { Resource } from './resource';

const ofExperiment = '/experiments/{experiment}';

/** Lists below `/experiments`. */
export const experimentResources: readonly Resource[] = [
  {
    path: '/experiments',
    name: 'Experiment',
    summary: 'experiments',
    view: 'experiments',
    row: Experiment,
    key: ['id'],
    newestFirst: true,
    filters: { status: Experiment.shape.status },
    item: 'experiment',
  },
  {
    path: `${ofExperiment}/cells`,
    name: 'Cell',
    summary: 'arms of an experiment by seed',
    view: 'cells',
    row: Cell,
    key: ['arm', 'seed'],
    filters: { arm: word, status: Cell.shape.status },
  },
  {
    path: `${ofExperiment}/scores`,
    name: 'Score',
    summary: 'scores by task, cell and checkpoint',
    view: 'scores',
    row: Score,
    key: ['arm', 'seed', 'checkpoint', 'task'],
    filters: { arm: word, seed, checkpoint: whole },
  },
  {
    path: `${ofExperiment}/analyses`,
    name: 'Analysis',
    summary: 'stored analyses with the verdicts of the contrasts',
    view: 'analyses',
    row: Analysis,
    key: ['recorded_at', 'input_hash'],
  },
];
