import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');
const packages = ['environments/src', 'trainer/src'];

/** What runs code when it reads a file; `weights_only` bounds torch's own reader, and is no reason to have it. */
const readers =
  /\b(torch\.(load|save)|c?[pP]ickle|dill|joblib|cloudpickle|shelve|marshal|jsonpickle|allow_pickle|yaml\.(load|unsafe_load|full_load))\b/;

const sources = packages.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py'))
    .map((name) => path.join(folder, name)),
);

test('no line of the two Python packages reads or writes a format that runs code', () => {
  expect(sources.length).toBeGreaterThan(100);
  const lines = sources.flatMap((file) =>
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .map((line, index) => `${file}:${index + 1}: ${line.trim()}`),
  );
  expect(lines.filter((line) => readers.test(line))).toEqual([]);
});
