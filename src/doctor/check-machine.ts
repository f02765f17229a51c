import { execFile } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../config';
import { readProviders } from '../llm/providers';
import { checkCluster } from '../training/kubernetes/check-cluster';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import { check, type Check, CheckFailed } from './check';
import { findPostgres } from '../stack/postgres-binaries';
import { findProgram } from '../process/find-program';
import { findTemporal } from '../stack/temporal-service';

const run = promisify(execFile);

const oldestNode = [20, 20] as const;
const oldestPython = [3, 11] as const;

/** Room for a campaign's trajectories and checkpoints, the 41 MB of an empty cluster and its log. */
const leastFreeBytes = 2 * 1024 ** 3;

const pythonPackages = ['coevolve_environments', 'coevolve_trainer', 'coevolve_policy_server', 'torch', 'transformers'];

/** Prints the interpreter's version and the packages that it cannot find; imports none of them. */
const pythonProbe = `
import sys
from importlib.util import find_spec
print(*sys.version_info[:2], *[name for name in sys.argv[1:] if find_spec(name) is None])
`;

/** What must be installed on this machine; what the configuration has elsewhere is not looked for. */
export function checkMachine(config: Config): Promise<Check>[] {
  return [
    check('node', 'install Node.js 20.20 or later', () => checkNode(process.versions.node)),
    check('python', 'npm run setup', () => checkPython(config.python)),
    ...(config.policyServer.kind === 'vllm' && !config.policy.url
      ? [check('vllm', 'npm run setup -- --with vllm', () => checkVllm(config.policyServer.vllmPython))]
      : []),
    ...(config.temporal.address
      ? []
      : [check('temporal program', 'npm run setup', () => versionOf(findTemporal(config)))]),
    ...(config.databaseUrl ? [] : [check('postgres programs', 'npm run setup', () => checkPostgres(config))]),
    check('disk', 'free some space, or set COEVOLVE_HOME to a larger disk', () => checkDisk(config.home)),
    checkJava(config.searchPath),
    ...(config.providersFile
      ? [check('language models', 'mend the file that COEVOLVE_LLM_PROVIDERS names', () => checkProviders(config))]
      : []),
    ...(config.kubernetesFile
      ? [check('kubernetes', 'correct the file that COEVOLVE_KUBERNETES_CONFIG names', () => checkKubernetes(config))]
      : []),
  ];
}

/** Reads the file again, so that an error in it is reported here and not by a parked campaign. */
const checkKubernetes = async (config: Config): Promise<string> =>
  checkCluster(requireKubernetesSettings(config), config.artifacts);

const checkProviders = (config: Config): string => `providers ${[...readProviders(config).keys()].join(', ')}`;

function checkNode(version: string): string {
  if (isOlder(version.split('.').map(Number), oldestNode))
    throw new CheckFailed(`Node.js ${version} is older than ${oldestNode.join('.')}`);
  return version;
}

async function checkPython(python: string): Promise<string> {
  if (!existsSync(python)) throw new CheckFailed(`no Python at ${python}`);
  const { stdout } = await run(python, ['-c', pythonProbe, ...pythonPackages], { timeout: 30_000 });
  const [major = '', minor = '', ...missing] = stdout.trim().split(' ');
  if (isOlder([Number(major), Number(minor)], oldestPython))
    throw new CheckFailed(`Python ${major}.${minor} at ${python} is older than ${oldestPython.join('.')}`);
  if (missing.length > 0) throw new CheckFailed(`${python} lacks ${missing.join(', ')}`);
  return `${major}.${minor} with ${pythonPackages.join(', ')}`;
}

/** Prints the version of vLLM, under whichever name it was installed; imports nothing of it. */
const vllmProbe = `
from importlib.metadata import packages_distributions, version
(name, *_) = packages_distributions()["vllm"]
print(name, version(name))
`;

async function checkVllm(python: string): Promise<string> {
  if (!existsSync(python)) throw new CheckFailed(`no Python at ${python}`);
  const { stdout } = await run(python, ['-c', vllmProbe], { timeout: 30_000 }).catch(() => ({ stdout: '' }));
  if (!stdout) throw new CheckFailed(`${python} lacks vllm`);
  return stdout.trim();
}

const checkPostgres = (config: Config): Promise<string> =>
  versionOf(path.join(findPostgres(config), 'bin', 'postgres'));

async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version'], { timeout: 10_000 });
  return stdout.trim();
}

function checkDisk(home: string): string {
  const folder = existsSync(home) ? home : path.dirname(home);
  const { bavail, bsize } = statfsSync(existsSync(folder) ? folder : '/');
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${home}`;
  if (free < leastFreeBytes) throw new CheckFailed(`${text}, fewer than ${leastFreeBytes / 1024 ** 3}`);
  return text;
}

/** Some environments run on Java; without it they are refused, and the rest works. */
async function checkJava(searchPath: string): Promise<Check> {
  const java = findProgram('java', searchPath);
  const absent = { name: 'java (optional)', ok: true, detail: 'none on PATH: only Java environments need it' };
  if (!java) return absent;
  const { stderr } = await run(java, ['-version'], { timeout: 10_000 }).catch(() => ({ stderr: '' }));
  return stderr ? { ...absent, detail: stderr.split('\n', 1)[0] ?? '' } : absent;
}

function isOlder(
  [major = 0, minor = 0]: readonly number[],
  [leastMajor, leastMinor]: readonly [number, number],
): boolean {
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
