// Runs the checks of the project; the last line is `N passed, N failed`. Vitest, the checks and the Python tests run side by
// side, because most tests wait for processes. Vitest's output is passed on at once, other parts are printed at their end.
// Before the last line stand the costs of each part and test file.
//   --all           also the tests of test/support/lane.ts, and of the marker of_all in Python
//   --shard 2/4     the second of four parts of about the same cost, for four machines
//   --write-costs   writes the costs of the files to scripts/testing/costs.json, by which shards are dealt
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { joinCosts, watchProcesses } from './testing/process-costs.mjs';
import { ownTicks } from './testing/process-stat.cjs';
import { shardOf } from './testing/shards.cjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const python = join(root, '.venv', 'bin', 'python');
const options = readOptions();
const results = mkdtempSync(join(tmpdir(), 'coevolve-test-'));
const costs = join(results, 'costs');
writeFileSync(costs, '');
const total = { passed: 0, failed: 0 };
/** Three keep two cores busy, beside Python's tests: a system test waits for its servers most of its time. */
const workers = Math.max(3, Math.floor(availableParallelism() / 2));

const watch = watchProcesses(costs);
await Promise.all([vitest(), checks(), pythonTests()]);
reportCosts();

rmSync(results, { recursive: true });
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;

function readOptions() {
  const { values } = parseArgs({
    options: {
      all: { type: 'boolean' },
      shard: { type: 'string', default: '1/1' },
      'write-costs': { type: 'boolean' },
    },
  });
  const [, index, shards] = (/^(\d+)\/(\d+)$/.exec(values.shard) ?? []).map(Number);
  if (!(index >= 1 && index <= shards)) {
    process.stderr.write(`--shard: found ${values.shard}, expected <number>/<count>, such as 2/4\n`);
    process.exit(2);
  }
  return { all: values.all === true, writeCosts: values['write-costs'] === true, shard: { index, count: shards } };
}

/** Two processes: one after the other they would end minutes after all other tests, on one core. */
async function pythonTests() {
  await Promise.all([pytest('environments'), pytest('trainer').then(() => pytest('statistics'))]);
}

async function checks() {
  if (options.shard.index !== 1) return;
  const sharedCache = '--cache-dir=../.mypy_cache'; // the stubs of torch are read once
  await check('types', bin('tsc'), []);
  await check('lint', bin('oxlint'), ['--type-aware']);
  await check('structure', process.execPath, ['scripts/lint-structure.mjs']);
  await check('prose', process.execPath, ['scripts/lint-prose.mjs']);
  await check('promises', process.execPath, ['scripts/lint-promises.mjs']);
  await check('format', bin('oxfmt'), ['--check']);
  for (const name of ['environments', 'trainer', 'statistics', 'exports', 'python', 'bench']) {
    await check(`${name}: lint`, python, ['-m', 'ruff', 'check', '--quiet', '.'], name);
    await check(`${name}: format`, python, ['-m', 'ruff', 'format', '--check', '--quiet', '.'], name);
    await check(`${name}: types`, python, ['-m', 'mypy', '--no-error-summary', sharedCache], name);
  }
}

/** Counts a whole command as one test. */
async function check(name, command, args, folder = '.') {
  const before = { ticks: ownTicks(), at: Date.now() };
  const ok = (await run(name, command, args, { folder })) === 0;
  count(ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
  const row = { file: name, ticks: ownTicks() - before.ticks, ms: Date.now() - before.at };
  writeFileSync(costs, `${JSON.stringify(row)}\n`, { flag: 'a' });
}

async function pytest(folder) {
  const report = join(results, `${folder}.xml`);
  const files = readdirSync(join(root, folder, 'tests'), { recursive: true })
    .filter((name) => /(^|\/)test_[^/]*\.py$/.test(name))
    .map((name) => join(folder, 'tests', name));
  const wanted = shardOf(files, options.shard).map((name) => name.slice(folder.length + 1));
  if (wanted.length === 0) return;
  const args = ['-m', 'pytest', '-q', '-p', 'pytest_costs', '--durations=5', `--junitxml=${report}`];
  const lane = options.all ? [] : ['-m', 'not of_all'];
  const env = { PYTHONPATH: join(root, 'scripts', 'testing') };
  const status = await run(`${folder}: tests`, python, [...args, ...lane, ...wanted], { folder, env });
  const suite = /<testsuite [^>]*>/.exec(existsSync(report) ? readFileSync(report, 'utf8') : '')?.[0] ?? '';
  const number = (key) => Number(new RegExp(` ${key}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  count({ passed: number('tests') - failed - number('skipped'), failed: status !== 0 && failed === 0 ? 1 : failed });
}

async function vitest() {
  const report = join(results, 'vitest.json');
  const shard = `--shard=${options.shard.index}/${options.shard.count}`;
  const args = [
    'run',
    `--maxWorkers=${workers}`,
    shard,
    '--reporter=default',
    '--reporter=json',
    `--outputFile=${report}`,
  ];
  const status = await run('tests', bin('vitest'), args, { live: true });
  const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = existsSync(report)
    ? JSON.parse(readFileSync(report, 'utf8'))
    : {};
  count({ passed, failed: status !== 0 && failed === 0 ? 1 : failed }); // also of a file that cannot be loaded
}

/** Runs a command; returns its exit code. Its output is printed at the end, or at once if `live`. */
function run(name, command, args, { folder = '.', live = false, env = {} }) {
  const startedAt = Date.now();
  const output = [];
  const child = spawn(command, args, {
    cwd: join(root, folder),
    stdio: live ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TEST_COSTS: costs,
      TEST_ALL: options.all ? '1' : '0',
      ...env,
    },
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => output.push(part));
  return new Promise((resolve) => {
    child.once('error', (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.once('close', (code) => {
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      const text = Buffer.concat(output).toString('utf8');
      process.stdout.write(`\n== ${name}\n${text}${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`);
      resolve(code);
    });
  });
}

/** Prints the processor time, the processes and the duration of all that used a second or more. */
function reportCosts() {
  const lines = readFileSync(costs, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const rows = lines.map((line) => JSON.parse(line));
  const files = joinCosts(rows, watch.stop(rows.map(({ pid }) => pid)));
  process.stdout.write('\n== costs\nprocessor s  processes  seconds  file\n');
  for (const { file, cpuSeconds, processes, seconds } of files.filter((row) => row.cpuSeconds >= 1)) {
    const numbers = [cpuSeconds.toFixed(1).padStart(11), String(processes).padStart(9), seconds.toFixed(0).padStart(7)];
    process.stdout.write(`${numbers.join('  ')}  ${file}\n`);
  }
  const sum = files.reduce((all, { cpuSeconds }) => all + cpuSeconds, 0);
  process.stdout.write(`${Math.round(sum)} s of processor time in ${files.length} checks and test files\n\n`);
  if (!options.writeCosts) return;
  const stored = Object.fromEntries(files.map(({ file, cpuSeconds }) => [file, Math.max(1, Math.round(cpuSeconds))]));
  writeFileSync(join(root, 'scripts', 'testing', 'costs.json'), `${JSON.stringify(stored, null, 2)}\n`);
}

function count({ passed, failed }) {
  total.passed += passed;
  total.failed += failed;
}
