import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readTail } from '../../files/read-tail';
import type { TrainingProgress } from '../contract/training-backend';

/** More than the length of any line of progress.jsonl. */
const lineLimitBytes = 16_384;

/** Returns the updates after update `after` in `<folder>/progress.jsonl`, in order and each once. */
export async function readCurve(folder: string, after: number): Promise<TrainingProgress[]> {
  const bySteps = new Map<number, TrainingProgress>();
  for await (const line of linesOf(fileOf(folder))) {
    const update = updateOf(line);
    if (update && update['step']! > after) bySteps.set(update['step']!, update); // a resumed job repeats updates
  }
  return [...bySteps.values()].sort((a, b) => a['step']! - b['step']!);
}

/** Returns the newest update of `<folder>/progress.jsonl`; empty without one. */
export async function readNewestUpdate(folder: string): Promise<TrainingProgress> {
  const lines = (await readTail(fileOf(folder), lineLimitBytes)).split('\n').reverse();
  return lines.map(updateOf).find((update) => update !== undefined) ?? {};
}

/** Yields the lines of a file, of which a long job writes millions; none if it cannot be read. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(() => undefined);
  if (file) yield* file.readLines();
}

/** Returns the numeric fields of an object. */
export const numbersOf = (value: object): TrainingProgress =>
  Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => Number.isFinite(entry[1])));

const fileOf = (folder: string): string => join(folder, 'progress.jsonl');

/** Parses a line; undefined if it is not an update or is incomplete, as the last line or the first of a tail can be. */
function updateOf(line: string): TrainingProgress | undefined {
  try {
    const update = JSON.parse(line) as { event?: unknown };
    if (update.event !== 'step') return undefined;
    const numbers = numbersOf(update);
    return isStep(numbers['step']) ? numbers : undefined;
  } catch {
    return undefined;
  }
}

const isStep = (step: number | undefined): boolean => Number.isInteger(step) && step! > 0 && step! < 2 ** 31;
