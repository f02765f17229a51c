import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../src/config';
import type * as devices from '../../src/process/devices';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-nvidia-'));
const searchPath = process.env['PATH'];

let { findDevices, parseDevices } = {} as typeof devices;

/** A program in place of nvidia-smi that lists three devices; `findDevices` runs it once, so the test needs a module of its own. */
beforeAll(async () => {
  const file = path.join(folder, 'nvidia-smi');
  writeFileSync(file, "#!/bin/sh\nprintf '0, 81559, GPU-aa\\n1, 81559, GPU-bb\\n2, 24564, GPU-cc\\n'\n");
  chmodSync(file, 0o755);
  process.env['PATH'] = `${folder}:${searchPath}`;
  vi.resetModules();
  ({ findDevices, parseDevices } = await import('../../src/process/devices.js'));
});
afterAll(() => {
  vi.resetModules(); // later files of this process ask the real machine
  process.env['PATH'] = searchPath;
  rmSync(folder, { recursive: true });
});

const indices = (setting: string, visible?: string) => findDevices(setting, visible).map(({ index }) => index);

test('devices are those of nvidia-smi, those that CUDA_VISIBLE_DEVICES names, or those of given indices', () => {
  expect(indices('auto')).toEqual([0, 1, 2]);
  expect(findDevices('auto')[2]).toMatchObject({ index: 2, memoryBytes: 24564 * 1024 ** 2 });
  expect(indices('auto', '2,GPU-aa')).toEqual([0, 2]);
  expect(indices('auto', '')).toEqual([]);
  expect(indices('1,2', '0')).toEqual([1, 2]);
  expect(() => indices('3')).toThrow('COEVOLVE_DEVICES: found device 3, expected one of nvidia-smi: 0, 1, 2');
});

test('declared devices need no nvidia-smi, and none hides those of the machine', () => {
  expect(findDevices('2x80GiB')).toEqual([0, 1].map((index) => ({ index, memoryBytes: 80 * 1024 ** 3 })));
  expect(findDevices('none')).toEqual([]);
});

test('a device that shares the memory of its machine must be declared, so that no job takes it for none', () => {
  expect(() => parseDevices('0, [N/A], GPU-aa\n')).toThrow(
    'COEVOLVE_DEVICES: nvidia-smi says [N/A] for the memory of device 0; declare it, such as 1x96GiB, or set none',
  );
  expect(parseDevices('NVIDIA-SMI has failed, because there is no driver\n')).toEqual([]);
});

test.each(['0,0', '1,2,01'])(
  'COEVOLVE_DEVICES=%s is refused: CUDA would hide the devices after the second mention',
  (text) => {
    expect(() => readConfig({ COEVOLVE_DEVICES: text })).toThrow(
      `COEVOLVE_DEVICES: expected each device once, got "${text}"`,
    );
  },
);

test.each(['all', '0x80GiB', '8x80', '8x80GB', '-1', '1,'])('COEVOLVE_DEVICES=%s is refused', (text) => {
  expect(() => readConfig({ COEVOLVE_DEVICES: text })).toThrow(
    `COEVOLVE_DEVICES: expected auto, none, indices such as 2,3, or devices such as 8x80GiB, got "${text}"`,
  );
});
