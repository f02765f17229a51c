import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resolveSpec } from '../../../src/specification/read-spec';
import { probeTraining } from '../../../src/client/estimate/probe-training';

const projectRoot = path.resolve(__dirname, '../../..');
const config = { python: path.join(projectRoot, '.venv/bin/python'), projectRoot };
const spec = resolveSpec({ name: 'x', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'sft' }, 'x.yaml');
const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('coevolve-probe-'));

test('a probe times updates of a real job, ends within its time and leaves nothing', async () => {
  const before = folders();
  const started = Date.now();
  const found = await probeTraining(config, spec, null, 170);
  expect(Date.now() - started).toBeLessThan(45_000);
  if ('problem' in found) expect(found.problem).toBe('no update within 40 s'); // on a machine with much other work
  else expect(found.tokensPerS).toBeGreaterThan(100);
  expect(folders()).toEqual(before);
}, 60_000);

test('a probe of a policy that cannot be loaded says why', async () => {
  const missing = { hash: 'a'.repeat(64), path: '/nonexistent' };
  await expect(probeTraining(config, spec, missing, 170)).resolves.toEqual({
    problem: expect.stringContaining('/nonexistent'),
  });
}, 60_000);
