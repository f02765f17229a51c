// Asks the registries which of the locked packages have known vulnerabilities: `npm run audit`. Needs the network.
//   npm audit      everything in package-lock.json; what only development needs is told, and does not fail
//   pip-audit      every file of requirements/, in an environment of its own: .venv-audit
// Ends with 0 when nothing is known, 1 when something is, 2 when a registry could not be asked: no answer is no all-clear.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const pipAudit = 'pip-audit==2.10.1';
const results = [auditNode(), ...auditPython()];

for (const { what, verdict } of results) process.stdout.write(`${what}: ${verdict}\n`);
process.exitCode = results.some(({ verdict }) => verdict === 'vulnerable')
  ? 1
  : results.some(({ verdict }) => verdict === 'not asked')
    ? 2
    : 0;

function auditNode() {
  const { stdout } = run('npm', ['audit', '--json'], 'pipe');
  const counts = asJson(stdout)?.metadata?.vulnerabilities;
  if (!counts) return { what: 'npm audit', verdict: 'not asked' };
  if (counts.total > 0) run('npm', ['audit']);
  const { status } = run('npm', ['audit', '--omit=dev', '--json'], 'pipe');
  return { what: 'npm audit', verdict: status === 0 ? 'nothing known' : 'vulnerable' };
}

function auditPython() {
  const python = join(root, '.venv-audit', 'bin', 'python');
  const isThere = existsSync(python) || run('python3', ['-m', 'venv', '.venv-audit']).status === 0;
  const isReady = isThere && run(python, ['-m', 'pip', 'install', '--quiet', pipAudit]).status === 0;
  const names = readdirSync(join(root, 'requirements')).filter((name) => name.endsWith('.lock'));
  // Setup installs torch by itself, since its build is chosen by where it comes from.
  const [, torch] = /'(torch==[^']+)'/.exec(readFileSync(join(root, 'scripts', 'setup.mjs'), 'utf8'));
  if (isReady) writeFileSync(join(root, '.venv-audit', torch), torch);
  const files = [...names.map((name) => join('requirements', name)), join('.venv-audit', torch)];
  return files.map((file) => ({
    what: `pip-audit of ${basename(file)}`,
    verdict: isReady ? verdictOf(python, file) : 'not asked',
  }));
}

/** The locks are whole: nothing is resolved, nor installed. */
function verdictOf(python, file) {
  const args = ['--requirement', file, '--no-deps', '--disable-pip', '--progress-spinner', 'off'];
  const { stdout } = run(python, ['-m', 'pip_audit', ...args, '--format', 'json'], 'pipe');
  const dependencies = asJson(stdout)?.dependencies;
  if (!dependencies) return 'not asked';
  const found = dependencies.filter(({ vulns }) => vulns?.length > 0);
  const skipped = dependencies.filter(({ skip_reason: reason }) => reason);
  for (const { name, version, vulns } of found)
    process.stdout.write(`  ${name} ${version}: ${vulns.map(({ id }) => id).join(', ')}\n`);
  for (const { skip_reason: reason } of skipped) process.stdout.write(`  ${reason}\n`);
  if (found.length > 0) return 'vulnerable';
  return skipped.length > 0 ? 'not asked' : 'nothing known';
}

function run(command, args, stdout = 'inherit') {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', stdout, 'inherit'] });
}

function asJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
