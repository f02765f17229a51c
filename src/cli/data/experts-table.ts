import { UsageError } from '../../errors/errors';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { TrajectoryStatistics } from '../../envs/experts/measure-experts';
import { rounded } from '../../tables/formats';
import { table } from '../output/output';

/** Formats the lengths and rewards of trajectories as a table. */
export function expertsTable(measures: readonly TrajectoryStatistics[]): string {
  const header = ['pattern', 'tasks', 'turns min', 'mean', 'max', 'characters mean', 'max', 'reward mean', 'successes'];
  const rows = measures.map((row) => [
    row.pattern || '-',
    row.tasks,
    row.turnsMin,
    row.turnsMean.toFixed(1),
    row.turnsMax,
    Math.round(row.charactersMean),
    row.charactersMax,
    row.rewardMean === null ? 'unknown' : rounded(row.rewardMean),
    row.successes,
  ]);
  return table(header, rows);
}

/**
 * Parses the options of an environment.
 *
 * @throws UsageError when the text is not a JSON object
 */
export function optionsOf(text: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new UsageError(`--options: found ${text}, expected a JSON object such as {"source":"wheel"}`);
  }
}

export const integerIn =
  (min: number, max: number) =>
  (text: string): number => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`expected an integer in ${min}..${max}`);
  };
