// Adds the hashes of all files of each pinned version to requirements/*.lock: `npm run lock` after a version was changed.
// pip then installs no file with another hash. Needs the network; uv comes into the separate environment .venv-lock.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'requirements');
const python = join(root, '.venv-lock', 'bin', 'python');
const options = ['--no-deps', '--generate-hashes', '--no-header', '--no-annotate', '--python-version', '3.11'];

if (!existsSync(python)) run('python3', ['-m', 'venv', '.venv-lock']);
run(python, ['-m', 'pip', 'install', '--quiet', 'uv==0.13.9']);
for (const name of readdirSync(folder)) {
  const lines = readFileSync(join(folder, name), 'utf8').split('\n');
  const comments = lines.filter((line) => line.startsWith('#'));
  const pins = lines.filter((line) => /^[^#\s]/.test(line)).map((line) => line.replace(/ \\$/, ''));
  const locked = run(python, ['-m', 'uv', 'pip', 'compile', '-', ...options], pins.join('\n'));
  writeFileSync(join(folder, name), [...comments, locked].join('\n'));
}

/** Returns the standard output; a failed command ends the script. */
function run(command, args, input = '') {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 2],
  });
  if (status !== 0) process.exit(1);
  return stdout;
}
