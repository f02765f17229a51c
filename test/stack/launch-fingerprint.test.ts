import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fingerprintOf } from '../../src/stack/launch-fingerprint';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-fingerprint-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const launch = { file: 'node', args: ['main.js'], env: { A: '1' }, inheritsEnvironment: true, cwd: '/' };

test('a change of a settings file changes the fingerprint', () => {
  const settings = path.join(folder, 'providers.yaml');
  const before = fingerprintOf({ ...launch, settings: [settings] }); // not written yet
  writeFileSync(settings, 'somewhere: { url: http://localhost:1/v1 }');
  const written = fingerprintOf({ ...launch, settings: [settings] });
  expect(written).not.toBe(before);
  expect(fingerprintOf({ ...launch, settings: [settings] })).toBe(written);
  writeFileSync(settings, 'somewhere: { url: http://localhost:2/v1 }');
  expect(fingerprintOf({ ...launch, settings: [settings] })).not.toBe(written);
});

test('the fingerprint depends on the variables but not on their order', () => {
  const one = fingerprintOf({ ...launch, env: { A: '1', B: '2' } });
  expect(fingerprintOf({ ...launch, env: { B: '2', A: '1' } })).toBe(one);
  expect(fingerprintOf(launch)).not.toBe(one);
});
