import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkEngine } from '../../src/client/check-engine';
import { startTimeOf } from '../../src/process/processes';
import { computeSettingsSchema } from '../../src/specification/compute-settings';

const python = path.resolve(__dirname, '../../.venv/bin/python');
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-engine-'));
const away = path.join(home, 'away');
const bare = path.join(home, 'python-without-packages');

beforeAll(() => {
  mkdirSync(path.join(home, 'run'));
  writeFileSync(path.join(home, 'run', 'worker-train.pid'), `${process.pid} print ${startTimeOf(process.pid)}\n`);
  writeFileSync(bare, `#!/bin/sh\nexec ${python} -S "$@"\n`); // -S: without the packages of the environment
  chmodSync(bare, 0o755);
});
afterAll(() => rmSync(home, { recursive: true }));

const compute = (settings: object) => ({ compute: computeSettingsSchema.parse(settings) });
const messagesOf = ({ problems, unchecked }: { problems: Error[]; unchecked: string[] }) => ({
  problems: problems.map(({ message }) => message),
  unchecked,
});

test('an engine whose packages are installed is accepted, and so is one without packages', async () => {
  await expect(checkEngine({ home, python }, compute({ engine: 'trl' }))).resolves.toEqual({
    problems: [],
    unchecked: [],
  });
  await expect(checkEngine({ home, python: bare }, compute({}))).resolves.toEqual({ problems: [], unchecked: [] });
});

test('missing packages are problems with the command that installs them', async () => {
  const settings = { engine: 'trl', processes: 2, sharding: 'deepspeed' };
  expect(messagesOf(await checkEngine({ home, python: bare }, compute(settings)))).toEqual({
    problems: [
      'compute.engine: found trl, which is not installed, expected builtin; or run `npm run setup -- --with trl`',
      'compute.sharding: found deepspeed, which is not installed, expected fsdp; or run `.venv/bin/pip install deepspeed`',
    ],
    unchecked: [],
  });
});

test('packages of another machine are listed as not checked', async () => {
  const unchecked = ['compute.engine: the packages of trl are checked by the trainer, elsewhere'];
  const elsewhere = [
    checkEngine({ home: away, python: bare }, compute({ engine: 'trl' })),
    checkEngine({ home, python: bare }, compute({ engine: 'trl', backend: 'kubernetes' })),
  ];
  for (const check of await Promise.all(elsewhere)) expect(check).toEqual({ problems: [], unchecked });
});
