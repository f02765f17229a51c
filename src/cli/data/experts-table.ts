import type { TrajectoryStatistics } from '../../envs/experts/measure-experts';
import { count, decimal } from '../../domain/formats';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats the lengths and rewards of trajectories as a table. */
export const expertsTable = (measures: readonly TrajectoryStatistics[]): string =>
  terminalTable(measures, [
    text('pattern', (row) => row.pattern || null),
    ...properties('tasks', 'turnsMin'),
    number('mean', (row) => decimal(row.turnsMean, 1)),
    number('max', (row) => row.turnsMax),
    number('characters mean', (row) => row.charactersMean, count),
    number('max', (row) => row.charactersMax),
    number('reward mean', (row) => row.rewardMean ?? 'unknown'),
    number('successes', (row) => row.successes),
  ]);
