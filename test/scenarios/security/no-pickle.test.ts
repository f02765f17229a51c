import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');
const packages = ['environments/src', 'trainer/src', 'statistics/src'];

/** Readers and writers of formats that execute code; torch's are included although `weights_only` restricts them. */
const unsafeFormats =
  /\b(torch\.(load|save)|c?[pP]ickle|dill|joblib|cloudpickle|shelve|marshal|jsonpickle|allow_pickle|yaml\.(load|unsafe_load|full_load))\b/;

const sources = packages.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py'))
    .map((name) => path.join(folder, name)),
);

test('the Python packages read and write no format that executes code', () => {
  expect(sources.length).toBeGreaterThan(100);
  const lines = sources.flatMap((file) =>
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .map((line, index) => `${file}:${index + 1}: ${line.trim()}`),
  );
  expect(lines.filter((line) => unsafeFormats.test(line))).toEqual([]);
});
