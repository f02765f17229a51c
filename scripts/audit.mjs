// Checks the locked packages for known vulnerabilities: `npm run audit`. Needs the network.
//   npm audit      package-lock.json; findings in development dependencies are printed but do not fail
//   pip-audit      every file of requirements/, in the separate environment .venv-audit
// Exits with 0 without findings, 1 with findings, and 2 when a registry was unavailable, because the result is unknown.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const pipAudit = 'pip-audit==2.10.1';
const results = [auditNode(), ...auditPython()];

for (const { name, verdict } of results) process.stdout.write(`${name}: ${verdict}\n`);
process.exitCode = results.some(({ verdict }) => verdict === 'vulnerable')
  ? 1
  : results.some(({ verdict }) => verdict === 'not checked')
    ? 2
    : 0;

function auditNode() {
  const { stdout } = run('npm', ['audit', '--json'], 'pipe');
  const counts = asJson(stdout)?.metadata?.vulnerabilities;
  if (!counts) return { name: 'npm audit', verdict: 'not checked' };
  if (counts.total > 0) run('npm', ['audit']);
  const { status } = run('npm', ['audit', '--omit=dev', '--json'], 'pipe');
  return { name: 'npm audit', verdict: status === 0 ? 'no known vulnerability' : 'vulnerable' };
}

function auditPython() {
  const python = join(root, '.venv-audit', 'bin', 'python');
  const exists = existsSync(python) || run('python3', ['-m', 'venv', '.venv-audit']).status === 0;
  const isReady = exists && run(python, ['-m', 'pip', 'install', '--quiet', pipAudit]).status === 0;
  const names = readdirSync(join(root, 'requirements')).filter((name) => name.endsWith('.lock'));
  // Setup installs torch separately, because its index determines its build.
  const [, torch] = /'(torch==[^']+)'/.exec(readFileSync(join(root, 'scripts', 'setup.mjs'), 'utf8'));
  if (isReady) writeFileSync(join(root, '.venv-audit', torch), torch);
  const files = [...names.map((name) => join('requirements', name)), join('.venv-audit', torch)];
  return files.map((file) => ({
    name: `pip-audit of ${basename(file)}`,
    verdict: isReady ? verdictOf(python, file) : 'not checked',
  }));
}

/** Audits a file without resolving or installing: the locks are complete. */
function verdictOf(python, file) {
  const args = ['--requirement', file, '--no-deps', '--disable-pip', '--progress-spinner', 'off'];
  const { stdout } = run(python, ['-m', 'pip_audit', ...args, '--format', 'json'], 'pipe');
  const dependencies = asJson(stdout)?.dependencies;
  if (!dependencies) return 'not checked';
  const found = dependencies.filter(({ vulns }) => vulns?.length > 0);
  const skipped = dependencies.filter(({ skip_reason: reason }) => reason);
  for (const { name, version, vulns } of found)
    process.stdout.write(`  ${name} ${version}: ${vulns.map(({ id }) => id).join(', ')}\n`);
  for (const { skip_reason: reason } of skipped) process.stdout.write(`  ${reason}\n`);
  if (found.length > 0) return 'vulnerable';
  return skipped.length > 0 ? 'not checked' : 'no known vulnerability';
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
