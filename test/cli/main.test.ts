import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../src/config';
import { runCli } from '../support/stack';

/** Home in which no stack was started. */
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-cli-'));
const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home });
const cli = (...args: string[]) => runCli(config, args);
/** Without a Python that a dry run could start to measure the speed of training. */
const cliWithoutProbe = (...args: string[]) => runCli({ ...config, python: '/nonexistent/python' }, args);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the help lists all commands', async () => {
  const { stdout } = await cli('--help');
  const running = ['quickstart', 'up', 'down', 'doctor', 'start', 'list', 'status', 'pause', 'resume', 'stop', 'tasks'];
  const inspecting = ['trajectory', 'pairs', 'lineage', 'compare', 'report', 'export', 'prompts'];
  for (const command of [
    ...running,
    ...inspecting,
    'approve',
    'budget',
    'logs',
    'du',
    'model',
    'env',
    'worker',
    'migrate',
  ])
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
});

test.each([
  ['list'],
  ['status', 'x'],
  ['pause', 'x'],
  ['tasks', 'x'],
  ['report', 'x'],
  ['logs', 'x'],
  ['du'],
  ['export', 'x', '--format', 'trl-sft', '--output', 'x.jsonl'],
  ['lineage', 'abcdef'],
  ['migrate'],
  ['budget', 'x'],
  ['approve', 'x'],
  ['env', 'list'],
])('without a stack, %s %s prints the problem and the command that starts it', async (...args) => {
  const { code, stdout, stderr } = await cli(...args, '--json');
  expect({ code, stderr }).toEqual({
    code: 6,
    stderr: expect.stringMatching(/^[^\n]+\n {2}next: npx coevolve up[^\n]*\n$/),
  });
  const [error, next] = stderr.trimEnd().split('\n  next: ');
  expect(JSON.parse(stdout)).toEqual({ error, code: 'StackError', kind: 'unreachable', next });
});

test('a worker without servers prints the missing configuration', async () => {
  const { code, stderr } = await cli('worker', '--role', 'store');
  expect({ code, stderr }).toEqual({
    code: 6,
    stderr: expect.stringMatching(/^no database is configured\n {2}next: npx coevolve up[^\n]*\n$/),
  });
});

test.each([
  [['start', '--json'], "missing required argument 'spec'"],
  [['list', '--jsn', '--json'], "unknown option '--jsn'"],
  [['lst', '--json'], "unknown command 'lst'"],
  [['start', 'no-such.yaml', '--json'], 'no-such.yaml: file not found'],
  [['start', '/dev', '--json'], '/dev: found a folder, expected the YAML file of a spec'],
  [['start', '/dev/zero', '--json'], 'the whole file: found more than 256 KiB'],
])('the usage mistake %j has its exit code and one JSON object', async (args, error) => {
  const { code, stdout } = await cli(...args);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ error: expect.stringContaining(error), kind: 'usage' });
});

test('a usage mistake names the help of its own command', async () => {
  expect((await cli('budget', 'raise', 'x', '--dollars', '3')).stderr).toContain('`npx coevolve budget raise --help`');
  expect((await cli('export')).stderr).toContain('`npx coevolve export --help`');
  expect((await cli('lst')).stderr).toContain('`npx coevolve --help`');
});

test.each([['--help'], ['help'], ['start', '--help'], ['--version']])('%s %s is no failure', async (...args) => {
  const { code, stderr } = await cli(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('--version prints the version of the package', async () => {
  expect((await cli('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('an unknown role is rejected with the valid roles', async () => {
  const { code, stderr } = await cli('worker', '--role', 'chef');
  expect(code).toBe(2);
  expect(stderr).toContain('Allowed choices are workflow, store, rollout, llm, train');
});

test('down without a running stack succeeds', async () => {
  expect(await cli('down')).toEqual({ code: 0, stdout: 'nothing was running\n', stderr: '' });
});

test('init writes a spec that a dry run accepts, and overwrites nothing', async () => {
  const file = path.join(home, 'mine.yaml');
  expect(await cli('init', file, '--recipe', 'eto', '--environment', 'bfcl')).toEqual({
    code: 0,
    stdout: `${file}\n`,
    stderr: `next: npx coevolve start ${file} --dry-run\n`,
  });
  const { stdout } = await cliWithoutProbe('start', file, '--dry-run', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ spec: { name: 'mine', recipe: 'eto' }, problems: [] });
  const [first] = readFileSync(file, 'utf8').split('\n');
  expect(existsSync(path.resolve(home, first!.split('$schema=')[1]!))).toBe(true);
  expect(await cli('init', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') });
  expect(await cli('init', path.join(home, 'Not A Name.yaml'))).toMatchObject({ code: 2 });
});

test.each([
  ['st', 1, 'start', 'status', 'stop'],
  ['--dr', 2, '--dry-run'],
])('bash completes %s', async (word, position, ...expected) => {
  const { stdout: script } = await cli('completion', 'bash');
  const words = ['coevolve', 'start', 'x.yaml'].slice(0, position).concat(word).join(' ');
  const shown = `${script}\nCOMP_WORDS=(${words}); COMP_CWORD=${position}; _coevolve; echo "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['-c', shown], { encoding: 'utf8' }).trim().split(' ')).toEqual(expected);
});

test('the scripts of zsh and fish contain all commands and their options', async () => {
  expect((await cli('completion', 'zsh')).stdout).toMatch(/^autoload -U [^]* {4}start\) words=".*--dry-run/);
  const { stdout } = await cli('completion', 'fish');
  expect(stdout).toMatch(/^complete -c coevolve -n '__fish_seen_subcommand_from start' -l dry-run -d 'only check/m);
  expect(stdout).toContain('-a budget');
});

test('doctor marks an optional part that is not here as none, and its next commands work as printed', async () => {
  const { code, stdout } = await runCli({ ...config, searchPath: '/nowhere' }, ['doctor']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^none {2}java \(optional\)/m);
  expect(stdout).toMatch(/^FAIL {2}database .*\n +next: npx coevolve up$/m);
});

test('a spec of four lines is complete: a dry run without a stack adds the defaults and an estimate', async () => {
  const spec = path.join(home, 'four-lines.yaml');
  writeFileSync(spec, 'name: four-lines\nseed: 7\nenvironment: { name: intercode-sql }\nrecipe: combined\n');
  const { code, stdout } = await cliWithoutProbe('start', spec, '--dry-run', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    spec: { name: 'four-lines', iterations: 2, rollouts: { attempts: 4 }, promotion: { rule: 'not-worse' } },
    estimate: { attempts: expect.any(Number), tokens: expect.any(Number), seconds: null },
  });
  const short = (await cliWithoutProbe('start', spec, '--dry-run')).stdout;
  expect(short).toMatch(
    /^name: four-lines\n[^]*\n\n# about [\d,]+ attempts[^]*\n# not checked: no environment server /,
  );
  expect(short).toContain('; npx coevolve up, or set COEVOLVE_ENVIRONMENT_URL');
  const full = (await cliWithoutProbe('start', spec, '--dry-run', '--full', '--set', 'name=2026', 'iterations=3'))
    .stdout;
  expect(full).toContain(
    '# assumed: speed unknown (a probe failed: no Python at /nonexistent/python; run `npm run setup`)',
  );
  expect(full).toMatch(/^name: "2026"\n[^]*\niterations: 3\n[^]*\n\n# about /);
  expect(short).not.toContain('grpo');
  expect(full).toContain('grpo');
});

test('a spec with errors is rejected with one line per error', async () => {
  const spec = path.join(home, 'wrong.yaml');
  writeFileSync(spec, 'name: Wrong\nseed: -1\nenvironment: { name: intercode-sql }\nrecipe: cake\nflavour: sweet\n');
  const { code, stdout, stderr } = await cli('start', spec);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  for (const field of [
    'name: found "Wrong"',
    'seed: found -1',
    'recipe: found "cake"',
    'flavour: found an unknown key',
  ])
    expect(stderr).toContain(field);
});

const examples = path.resolve(__dirname, '../../examples');
/** Examples that need a provider or an imported model. */
const missing: Record<string, string> = {
  'coevolve-llm.yaml': 'llm.models.explorer.provider: found "somewhere"',
  'smollm2.yaml': 'policy.model: found "smollm2"',
};
test.each(readdirSync(examples).filter((file) => file.endsWith('.yaml')))(
  'the example %s is a valid spec, and its missing parts are listed',
  async (file) => {
    const { code, stdout, stderr } = await cliWithoutProbe('start', path.join(examples, file), '--dry-run', '--json');
    const { problems, unchecked } = JSON.parse(stdout) as Record<'problems' | 'unchecked', string[]>;
    expect({ code, stderr, problems }).toEqual({ code: 0, stderr: '', problems: [] });
    expect(unchecked).toEqual(expect.arrayContaining([expect.stringContaining(missing[file] ?? 'environment')]));
  },
);
