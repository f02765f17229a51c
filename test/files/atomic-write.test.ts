import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeAtomically, writeAtomicallySync } from '../../src/files/atomic-write';

const root = mkdtempSync(path.join(tmpdir(), 'coevolve-atomic-'));
afterAll(() => rmSync(root, { recursive: true }));

test('a second write replaces the whole file', async () => {
  const file = path.join(root, 'reports', 'r.html');
  const blocking = async (...written: [string, string]) => writeAtomicallySync(...written);
  for (const write of [writeAtomically, blocking]) {
    await writeAtomically(file, 'x'.repeat(100_000));
    await write(file, 'short');
    expect(readFileSync(file, 'utf8')).toBe('short');
    expect(readdirSync(path.dirname(file))).toEqual(['r.html']);
  }
});

test('concurrent writers leave one of their texts and no staging file', async () => {
  const file = path.join(root, 'concurrent', 'r.txt');
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(200_000));
  await Promise.all(texts.map((text) => writeAtomically(file, text)));
  expect(texts).toContain(readFileSync(file, 'utf8'));
  expect(readdirSync(path.dirname(file))).toEqual(['r.txt']);
});

test('a blocking write closes the file to other users', () => {
  const file = path.join(root, 'secret');
  writeAtomicallySync(file, 'password');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
