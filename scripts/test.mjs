// Runs every check of the project, one after the other, and ends with a line that counts them: `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const python = join(root, '.venv', 'bin', 'python');
const results = mkdtempSync(join(tmpdir(), 'coevolve-test-'));
const total = { passed: 0, failed: 0 };

check('types', bin('tsc'), []);
check('lint', bin('oxlint'), ['--type-aware']);
check('format', bin('prettier'), ['--check', '--log-level=warn', '.']);
for (const name of ['environments', 'trainer', 'bench']) {
  check(`${name}: lint`, python, ['-m', 'ruff', 'check', '--quiet', '.'], name);
  check(`${name}: format`, python, ['-m', 'ruff', 'format', '--check', '--quiet', '.'], name);
  check(`${name}: types`, python, ['-m', 'mypy', '--no-error-summary'], name);
}
for (const name of ['environments', 'trainer']) pytest(name);
jest();

rmSync(results, { recursive: true });
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;

/** A check passes or fails as a whole. */
function check(name, command, args, folder = '.') {
  const ok = run(name, command, args, folder) === 0;
  count(ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
  process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}\n`);
}

function pytest(folder) {
  const report = join(results, `${folder}.xml`);
  const status = run(`${folder}: tests`, python, ['-m', 'pytest', '-q', `--junitxml=${report}`], folder);
  const suite = /<testsuite [^>]*>/.exec(readFileSync(report, 'utf8'))?.[0] ?? '';
  const number = (key) => Number(new RegExp(` ${key}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  count({ passed: number('tests') - failed - number('skipped'), failed: status !== 0 && failed === 0 ? 1 : failed });
}

function jest() {
  const report = join(results, 'jest.json');
  const status = run('tests', bin('jest'), ['--maxWorkers=2', '--json', `--outputFile=${report}`], '.');
  const {
    numPassedTests: passed,
    numFailedTests,
    numRuntimeErrorTestSuites,
  } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  count({ passed, failed: status !== 0 && failed === 0 ? 1 : failed });
}

function run(name, command, args, folder) {
  process.stdout.write(`\n== ${name}\n`);
  // Standard output of jest is its JSON; what a person reads goes to standard error.
  const quiet = args.includes('--json');
  return spawnSync(command, args, {
    cwd: join(root, folder),
    stdio: ['ignore', quiet ? 'ignore' : 'inherit', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --no-warnings' }, // node-pg-migrate is an ES module
  }).status;
}

function count({ passed, failed }) {
  total.passed += passed;
  total.failed += failed;
}
