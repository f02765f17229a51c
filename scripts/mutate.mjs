// Measures how many faults in src/domain and in the trainer's losses the tests detect: StrykerJS and mutmut change the code
// in one place at a time and run the tests. Installs both tools first; takes some hours on two cores.
//   npm run mutate                 both
//   npm run mutate -- domain       src/domain alone; further arguments go to Stryker
//   npm run mutate -- losses       trainer/src/coevolve_trainer/losses alone
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const python = path.join(root, '.venv', 'bin', 'python');
const [part, ...more] = process.argv.slice(2);

if (part !== 'losses') {
  // Stryker's runner uses the project's Vitest.
  run('npm', ['ci', '--no-audit', '--no-fund', '--legacy-peer-deps', '--prefix', 'tools/mutate']);
  run('tools/mutate/node_modules/.bin/stryker', ['run', 'tools/mutate/stryker.config.json', ...more]);
}
if (part !== 'domain') {
  run(python, ['-m', 'pip', 'install', '-qq', '--no-deps', '-r', 'requirements/mutate.lock']);
  rmSync(path.join(root, 'trainer', 'mutants'), { recursive: true, force: true });
  run(python, ['-m', 'mutmut', 'run'], 'trainer');
  run(python, ['-m', 'mutmut', 'results'], 'trainer');
}

/** Runs a command; its exit code other than 0 ends the program with the same code. */
function run(command, args, folder = '.') {
  const { PYTHONPATH: _none, ...env } = process.env;
  const { status } = spawnSync(command, args, { cwd: path.join(root, folder), stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
