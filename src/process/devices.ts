import { spawnSync } from 'node:child_process';
import { ConfigError } from '../errors/errors';

/** A GPU of this machine, or a declared one. */
export type Device = { index: number; memoryBytes: number };

const gib = 1024 ** 3;
const variable = 'COEVOLVE_DEVICES';

/**
 * Returns the devices that jobs and policy servers of this installation may use: all that nvidia-smi lists (`auto`),
 * the ones with these indices (`2,3`), declared ones (`8x80GiB`), or no device (`none`).
 *
 * @param setting a text that the configuration has checked
 * @throws ConfigError for an index that nvidia-smi does not list
 */
export function findDevices(setting: string, visible = process.env['CUDA_VISIBLE_DEVICES']): Device[] {
  if (setting === 'none') return [];
  const [, count, size] = declared.exec(setting) ?? [];
  if (count) return Array.from({ length: Number(count) }, (_, index) => ({ index, memoryBytes: Number(size) * gib }));
  const found = nvidiaDevices();
  const chosen = setting === 'auto' ? visible : setting;
  if (chosen === undefined) return found;
  const names = chosen.split(',').filter((name) => name !== '');
  if (setting === 'auto')
    return found.filter(({ index, uuid }) => names.includes(String(index)) || names.includes(uuid));
  return names.map((name) => {
    const device = found.find(({ index }) => index === Number(name));
    if (!device) throw new ConfigError(variable, `found device ${name}, expected one of nvidia-smi: ${listed(found)}`);
    return device;
  });
}

/** Where a job on this machine computes: `auto` is its GPUs, if it may use any. */
export const jobDevice = (setting: string, device: 'auto' | 'cpu' | 'cuda'): 'cpu' | 'cuda' =>
  device !== 'auto' ? device : findDevices(setting).length > 0 ? 'cuda' : 'cpu';

/** Formats a count: `1 device`, `2 devices`. */
export const devicesText = (count: number): string => `${count} ${count === 1 ? 'device' : 'devices'}`;

const declared = /^(\d+)x(\d+)GiB$/;

const listed = (devices: readonly Device[]): string => devices.map(({ index }) => index).join(', ') || 'none';

let known: (Device & { uuid: string })[] | undefined;

/** Asks nvidia-smi once per process; a machine without it has no devices. */
function nvidiaDevices(): (Device & { uuid: string })[] {
  const query = ['--query-gpu=index,memory.total,uuid', '--format=csv,noheader,nounits'];
  known ??= parseDevices(
    spawnSync('nvidia-smi', query, { encoding: 'utf8', timeout: 30_000, env: process.env }).stdout ?? '',
  );
  return known;
}

/**
 * Parses lines such as `0, 81559, GPU-1234`, with the memory in MiB.
 *
 * @throws ConfigError for a device without a memory of its own, which nvidia-smi writes as `[N/A]`
 */
export const parseDevices = (text: string): (Device & { uuid: string })[] =>
  text
    .split('\n')
    .map((line) => /^(\d+), (\d+|\[.+\]), (\S+)$/.exec(line.trim()))
    .filter((match) => match !== null)
    .map(([, index, mib, uuid]) => {
      if (mib!.startsWith('['))
        throw new ConfigError(
          variable,
          `nvidia-smi says ${mib} for the memory of device ${index}; declare it, such as 1x96GiB, or set none`,
        );
      return { index: Number(index), memoryBytes: Number(mib) * 1024 ** 2, uuid: uuid! };
    });
