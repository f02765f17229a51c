import { execFile } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../config';
import { readProviders } from '../llm/providers';
import { findProgram } from '../process/find-program';
import { findPostgres } from '../stack/postgres-binaries';
import { findTemporal } from '../stack/temporal-service';
import { backends } from '../training/backends';
import { check, type Check, CheckFailed } from './check';
import { devicesText, findDevices } from '../process/devices';
import { leasesFolder, serverDevices } from '../process/server-devices';
import { deviceLeases } from '../training/local/device-leases';

const run = promisify(execFile);

const minNode = [20, 20] as const;
const minPython = [3, 11] as const;

/** Space for a campaign's trajectories and checkpoints, an empty database cluster (41 MB) and its log. */
const minFreeBytes = 2 * 1024 ** 3;

const pythonPackages = ['coevolve_environments', 'coevolve_trainer', 'coevolve_policy_server', 'torch', 'transformers'];

/** Prints the interpreter's version and the missing packages without importing any package. */
const pythonProbe = `
import sys
from importlib.util import find_spec
print(*sys.version_info[:2], *[name for name in sys.argv[1:] if find_spec(name) is None])
`;
import { byteSize } from '../domain/formats';

/** Checks the programs and the disk space of this machine; programs of external servers are not checked. */
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
    check('disk', 'free disk space, or set COEVOLVE_HOME to a larger disk', () => checkDisk(config.home)),
    checkJava(config.searchPath),
    ...checkDevices(config),
    ...(config.providersFile
      ? [check('language models', 'correct the file that COEVOLVE_LLM_PROVIDERS names', () => checkProviders(config))]
      : []),
    ...Object.entries(backends).flatMap(([name, { doctor }]) => {
      const found = doctor(config);
      return found ? [check(name, found.next, found.run)] : [];
    }),
  ];
}

const checkProviders = (config: Config): string => `providers ${[...readProviders(config).keys()].join(', ')}`;

function checkNode(version: string): string {
  if (isOlder(version.split('.').map(Number), minNode))
    throw new CheckFailed(`found Node.js ${version}, expected at least ${minNode.join('.')}`);
  return version;
}

async function checkPython(python: string): Promise<string> {
  if (!existsSync(python)) throw new CheckFailed(`no Python at ${python}`);
  const { stdout } = await run(python, ['-c', pythonProbe, ...pythonPackages], { timeout: 30_000 });
  const [major = '', minor = '', ...missing] = stdout.trim().split(' ');
  if (isOlder([Number(major), Number(minor)], minPython))
    throw new CheckFailed(`found Python ${major}.${minor} at ${python}, expected at least ${minPython.join('.')}`);
  if (missing.length > 0) throw new CheckFailed(`${python} lacks ${missing.join(', ')}`);
  return `${major}.${minor} with ${pythonPackages.join(', ')}`;
}

/** Prints the version of vLLM and the name of its distribution without importing it. */
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
  const text = `${byteSize(free)} free at ${home}`;
  if (free < minFreeBytes) throw new CheckFailed(`${text}, expected at least ${minFreeBytes / 1024 ** 3} GiB`);
  return text;
}

/** Java is optional: without it only the environments that run on Java are unavailable. */
async function checkJava(searchPath: string): Promise<Check> {
  const java = findProgram('java', searchPath);
  const absent = {
    name: 'java (optional)',
    ok: true,
    absent: true,
    detail: 'not on PATH; only Java environments need it',
  };
  if (!java) return absent;
  const { stderr } = await run(java, ['-version'], { timeout: 10_000 }).catch(() => ({ stderr: '' }));
  return stderr ? { name: absent.name, ok: true, detail: stderr.split('\n', 1)[0] ?? '' } : absent;
}

function isOlder([major = 0, minor = 0]: readonly number[], [minMajor, minMinor]: readonly [number, number]): boolean {
  return major < minMajor || (major === minMajor && minor < minMinor);
}

/** Lists the devices of this installation and their holders; no line without devices and without a setting. */
export function checkDevices(config: Config): Promise<Check>[] {
  const next = 'correct COEVOLVE_DEVICES or COEVOLVE_VLLM_DEVICES';
  const describe = async (): Promise<string> => {
    const devices = findDevices(config.devices);
    const memory = [...new Set(devices.map(({ memoryBytes }) => byteSize(memoryBytes)))].join(' or ');
    const groups = serverDevices(config);
    if (config.policyServer.kind === 'vllm' && groups.length === 0)
      throw new CheckFailed(
        `found ${devicesText(devices.length)}, expected at least ${config.policyServer.devicesPerProcess ?? 1}, those of one vLLM process`,
      );
    const leases = await deviceLeases(leasesFolder(config)).list();
    const holders = leases.map(
      ({ holder, devices: held, waiting }) => `${holder} ${waiting ?? `holds ${held.join(', ')}`}`,
    );
    const servers = groups.map((group) => `vLLM may use ${group.map(({ index }) => index).join(', ')}`);
    return [`${devices.length} with ${memory}`, ...servers, ...holders].join('; ');
  };
  try {
    if (findDevices(config.devices).length === 0) return [];
  } catch {
    // an index that this machine lacks: the check reports it
  }
  return [check('devices', next, describe)];
}
