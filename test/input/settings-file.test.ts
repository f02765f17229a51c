import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { problemOfUrl, readSecretFile, readSettingsFile } from '../../src/input/settings-file';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-settings-'));
  file = path.join(folder, 'settings.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = () => readSettingsFile({ variable: 'COEVOLVE_LLM_PROVIDERS', file, content: 'providers' });

test('a problem names the variable, the file and the position of its field', () => {
  writeFileSync(file, 'a:\n  url: 1\n');
  const { value, unusable } = read();
  expect(value).toEqual({ a: { url: 1 } });
  expect(unusable(['a.url: found 1, expected a text']).message).toBe(
    `COEVOLVE_LLM_PROVIDERS: ${file} is not a valid providers file:\n  line 2, column 3: a.url: found 1, expected a text`,
  );
});

test('a file that is missing or not YAML names the variable', () => {
  expect(read).toThrow(/^COEVOLVE_LLM_PROVIDERS: cannot read the providers: ENOENT/);
  writeFileSync(file, 'a: [');
  expect(read).toThrow(/^COEVOLVE_LLM_PROVIDERS: .* is not a valid providers file:\n {2}line 1/);
});

test('a secret is one printable word, and no message contains the path of its file', () => {
  writeFileSync(file, 'sk-1\n');
  expect(readSecretFile(file, 'key')).toEqual({ text: 'sk-1' });
  for (const text of ['', 'two words', 'two\nlines']) {
    writeFileSync(file, text);
    expect(readSecretFile(file, 'key')).toEqual({ problem: expect.not.stringContaining(file) });
  }
  expect(readSecretFile(`${file}-missing`, 'token')).toEqual({
    problem: expect.stringMatching(/^(?!.*missing).*ENOENT/),
  });
});

test.each([
  ['http://a/v1', undefined],
  ['not a URL', 'a text that is not a URL'],
  ['https://u:secret@a', 'a URL with credentials (write the token to tokenFile)'],
  ['https://a/?q=1', 'a URL with a query'],
  ['ftp://a', 'a URL of ftp:'],
])('the problem of %s is %s', (url, problem) => {
  expect(problemOfUrl(url, 'token')).toBe(problem);
});
