import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCurve, readNewestUpdate } from '../../../src/training/local/progress-file';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-progress-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const updateLine = (step: number, loss: number): string => JSON.stringify({ event: 'step', step, loss, method: 'sft' });

const write = (...lines: string[]): void => writeFileSync(path.join(folder, 'progress.jsonl'), lines.join('\n'));

test('a job without updates has an empty curve', async () => {
  await expect(readCurve(folder, 0)).resolves.toEqual([]);
  await expect(readNewestUpdate(folder)).resolves.toEqual({});
});

test('the curve has the numbers of every update after the given one', async () => {
  write(updateLine(10, 3), JSON.stringify({ event: 'checkpoint', step: 10 }), updateLine(20, 2), updateLine(30, 1), '');
  await expect(readCurve(folder, 10)).resolves.toEqual([
    { step: 20, loss: 2 },
    { step: 30, loss: 1 },
  ]);
  await expect(readNewestUpdate(folder)).resolves.toEqual({ step: 30, loss: 1 });
});

test('updates that a resumed job repeats are returned once and in order', async () => {
  write(
    updateLine(10, 3),
    updateLine(20, 2),
    JSON.stringify({ event: 'resumed', step: 10 }),
    updateLine(20, 2),
    updateLine(30, 1),
    '',
  );
  expect((await readCurve(folder, 0)).map(({ step }) => step)).toEqual([10, 20, 30]);
});

test('an incomplete last line is ignored', async () => {
  write(updateLine(10, 3), updateLine(20, 2).slice(0, 20));
  await expect(readCurve(folder, 0)).resolves.toEqual([{ step: 10, loss: 3 }]);
  await expect(readNewestUpdate(folder)).resolves.toEqual({ step: 10, loss: 3 });
});

test('the newest update of a long file is found at its end', async () => {
  write(...Array.from({ length: 5_000 }, (_, n) => updateLine(n + 1, 1 / (n + 1))), '');
  await expect(readNewestUpdate(folder)).resolves.toEqual({ step: 5_000, loss: 1 / 5_000 });
});

test.each([0, -1, 2.5, 2 ** 31])('an update with the number %d is left out', async (step) => {
  write(updateLine(1, 3), updateLine(step, 2), '');
  await expect(readCurve(folder, -9)).resolves.toEqual([{ step: 1, loss: 3 }]);
});
