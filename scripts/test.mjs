// Runs the checks of the project; the last line is `N passed, N failed`. With --all the tests that use test/support/lane.ts
// run at their full size. Two sequences run side by side, because most tests wait for processes: jest, whose output is
// passed on at once, and all other parts, each printed at its end.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const python = join(root, '.venv', 'bin', 'python');
const results = mkdtempSync(join(tmpdir(), 'coevolve-test-'));
const total = { passed: 0, failed: 0 };
/** Three keep two cores busy: a system test waits for its servers two thirds of its time. */
const workers = Math.max(3, Math.floor(availableParallelism() / 2));

await Promise.all([jest(), others()]);

rmSync(results, { recursive: true });
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;

async function others() {
  const sharedCache = '--cache-dir=../.mypy_cache'; // the stubs of torch are read once
  await check('types', bin('tsc'), []);
  await check('lint', bin('oxlint'), ['--type-aware']);
  await check('structure', process.execPath, ['scripts/lint-structure.mjs']);
  await check('prose', process.execPath, ['scripts/lint-prose.mjs']);
  await check('format', bin('prettier'), ['--check', '--log-level=warn', '.']);
  for (const name of ['environments', 'trainer', 'statistics', 'bench']) {
    await check(`${name}: lint`, python, ['-m', 'ruff', 'check', '--quiet', '.'], name);
    await check(`${name}: format`, python, ['-m', 'ruff', 'format', '--check', '--quiet', '.'], name);
    await check(`${name}: types`, python, ['-m', 'mypy', '--no-error-summary', sharedCache], name);
  }
  for (const name of ['environments', 'trainer', 'statistics']) await pytest(name);
}

/** Counts a whole command as one test. */
async function check(name, command, args, folder = '.') {
  const ok = (await run(name, command, args, { folder })) === 0;
  count(ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
}

async function pytest(folder) {
  const report = join(results, `${folder}.xml`);
  const args = ['-m', 'pytest', '-q', '--durations=5', `--junitxml=${report}`];
  const status = await run(`${folder}: tests`, python, args, { folder });
  const suite = /<testsuite [^>]*>/.exec(existsSync(report) ? readFileSync(report, 'utf8') : '')?.[0] ?? '';
  const number = (key) => Number(new RegExp(` ${key}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  count({ passed: number('tests') - failed - number('skipped'), failed: status !== 0 && failed === 0 ? 1 : failed });
}

async function jest() {
  const report = join(results, 'jest.json');
  const order = `--testSequencer=${join(root, 'scripts', 'slowest-first.cjs')}`;
  const args = [`--maxWorkers=${workers}`, order, '--json', `--outputFile=${report}`];
  const status = await run('tests', bin('jest'), args, { live: true });
  const summary = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  const failed = (summary.numFailedTests ?? 0) + (summary.numRuntimeErrorTestSuites ?? 0);
  count({ passed: summary.numPassedTests ?? 0, failed: status !== 0 && failed === 0 ? 1 : failed });
}

/** Runs a command; returns its exit code. Its output is printed at the end, or at once if `live`. */
function run(name, command, args, { folder = '.', live = false }) {
  const startedAt = Date.now();
  const output = [];
  const child = spawn(command, args, {
    cwd: join(root, folder),
    // jest writes its JSON to standard output and its messages to standard error.
    stdio: live ? ['ignore', 'ignore', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: '--experimental-vm-modules --no-warnings', // node-pg-migrate is an ES module
      TEST_ALL: process.argv.includes('--all') ? '1' : '0',
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

function count({ passed, failed }) {
  total.passed += passed;
  total.failed += failed;
}
