import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrainingProgress } from '../training-backend';

/** More than one line of progress.jsonl takes, however many numbers the trainer tells. */
const lineLimitBytes = 16_384;

/** The updates after `after` that a trainer tells of in `<folder>/progress.jsonl`, in their order, each once. */
export async function readCurve(folder: string, after: number): Promise<TrainingProgress[]> {
  const text = await readFile(fileOf(folder), 'utf8').catch(() => '');
  const bySteps = new Map<number, TrainingProgress>();
  for (const line of text.split('\n')) {
    const told = updateOf(line);
    if (told && told['step']! > after) bySteps.set(told['step']!, told); // a resumed job repeats updates
  }
  return [...bySteps.values()].sort((a, b) => a['step']! - b['step']!);
}

/** The newest update of `<folder>/progress.jsonl`; empty while there is none. */
export async function readNewestUpdate(folder: string): Promise<TrainingProgress> {
  const file = await open(fileOf(folder)).catch(() => undefined);
  if (!file) return {};
  try {
    const { size } = await file.stat();
    const length = Math.min(size, lineLimitBytes);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const lines = buffer.toString('utf8').split('\n').reverse();
    return lines.map(updateOf).find((told) => told !== undefined) ?? {};
  } finally {
    await file.close();
  }
}

/** The numbers of an object; whatever else it holds is not for a chart. */
export const numbersOf = (value: object): TrainingProgress =>
  Object.fromEntries(Object.entries(value).filter((entry): entry is [string, number] => Number.isFinite(entry[1])));

const fileOf = (folder: string): string => join(folder, 'progress.jsonl');

/** A line that tells of an update. The last line may be half written, the first of a tail half read. */
function updateOf(line: string): TrainingProgress | undefined {
  try {
    const told = JSON.parse(line) as { event?: unknown };
    if (told.event !== 'step') return undefined;
    const numbers = numbersOf(told);
    return 'step' in numbers ? numbers : undefined;
  } catch {
    return undefined;
  }
}
