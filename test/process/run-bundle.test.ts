import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const dist = path.resolve(__dirname, '../../dist');
const main = path.join(dist, 'cli', 'main.js');
const bundles = path.join(dist, 'process', 'run-bundle.js');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-main-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs code of a script file at the exit of a command and returns the JSON that it writes to standard error. */
async function atExit<T>(code: string, args: readonly string[]): Promise<T> {
  const hook = path.join(folder, 'hook.cjs');
  writeFileSync(hook, `process.on('exit', () => process.stderr.write(JSON.stringify(${code})));`);
  const { stderr } = await run(process.execPath, ['--require', hook, main, ...args]);
  return JSON.parse(stderr) as T;
}

test.each([['--help'], ['--version'], ['completion', 'bash'], ['list', '--help'], ['worker', '--help']])(
  '%s %s loads two files beside the bundle, and no client of a service',
  async (...args) => {
    const files = await atExit<string[]>('Object.keys(require.cache)', args);
    expect(files.filter((file) => !file.startsWith(folder)).sort()).toEqual([main, bundles]);
    const builtins = await atExit<string[]>('process.moduleLoadList', args);
    expect(builtins).toContain('NativeModule vm');
    for (const name of ['http', 'http2', 'tls']) expect(builtins).not.toContain(`NativeModule ${name}`);
  },
);

test.each(['help', 'client', 'worker'])('V8 accepts the code cache "%s" of the build', async (cache) => {
  const code = `process.argv = ${JSON.stringify(['node', main, '--version'])};
    const { cachedDataRejected } = require(${JSON.stringify(bundles)}).runBundle('program', '${cache}');
    process.on('exit', () => process.stderr.write(String(cachedDataRejected)));`;
  expect((await run(process.execPath, ['-e', code])).stderr).toBe('false');
});

test('the program runs with flags for which V8 refuses the code cache, and from its separate modules', async () => {
  const expected = await run(process.execPath, [main, 'completion', 'bash']);
  expect(expected.stdout).toContain('complete -o default');
  for (const program of [['--stack-trace-limit=50', main], [path.join(dist, 'cli', 'program.js')]])
    expect(await run(process.execPath, [...program, 'completion', 'bash'])).toEqual(expected);
});
