import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readTail } from '../../src/files/read-tail';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-tail-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the end of a file is read, whatever its size', async () => {
  const file = path.join(folder, 'log');
  expect(await readTail(file, 4)).toBe('');
  writeFileSync(file, 'abc');
  expect(await readTail(file, 4)).toBe('abc');
  truncateSync(file, 2 ** 40); // a file of holes, too large for the memory
  writeFileSync(file, 'last', { flag: 'a' });
  expect(await readTail(file, 4)).toBe('last');
});
