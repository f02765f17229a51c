import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { forkSpec } from '../../src/spec/fork-spec';
import { readSpec } from '../../src/spec/read-spec';

const folder = path.resolve(__dirname, '../../examples');
const specs = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const specOf = (name: string) => readSpec(readFileSync(path.join(folder, name), 'utf8'), name);
const source = specOf('eto.yaml');
const fork = (...changes: string[]) => forkSpec(source, { name: 'fork', iteration: 0, changes });

test.each(specs)('%s without a change is itself under another name', (name) => {
  const spec = specOf(name);
  const iterations = Math.max(spec.iterations, 1);
  const change = spec.recipe === 'sft' ? [] : [`iterations=${iterations}`];
  const request = { name: 'fork', iteration: spec.recipe === 'sft' ? -1 : 0, changes: change };
  expect(forkSpec(spec, request)).toEqual({
    ...spec,
    iterations: spec.recipe === 'sft' ? 0 : iterations,
    name: 'fork',
  });
});

test('a change is read as YAML, and the source keeps what it has', () => {
  const changed = fork(
    'training.dpo.beta=0.5',
    'iterations=4',
    'signals.rare.enabled=false',
    'promotion={rule: always}',
  );
  expect(changed).toMatchObject({
    iterations: 4,
    training: { dpo: { beta: 0.5 } },
    signals: { rare: { enabled: false } },
  });
  expect(changed.promotion).toMatchObject({ rule: 'always' });
  expect(specOf('eto.yaml')).toEqual(source);
});

test.each([
  { change: 'seed=9', says: '--set seed: a fork changes only' },
  { change: 'recipe=rft', says: '--set recipe: a fork changes only' },
  { change: 'environment.trainTasks=3', says: '--set environment.trainTasks: a fork changes only' },
  { change: 'training.init.layers=2', says: '--set training.init.layers: a fork changes only' },
  { change: 'training.sft.epochs=2', says: '--set training.sft.epochs: a fork changes only' },
  { change: 'evaluation.temperature=1', says: '--set evaluation.temperature: a fork changes only' },
  { change: 'name=other', says: 'is what --name says' },
  { change: 'training.dpo.beta', says: 'expected <key>=<value>' },
  { change: 'nowhere.at.all=1', says: 'the spec has no section nowhere' },
  { change: 'training.dpo.beta=[', says: '--set training.dpo.beta: line 1' },
  { change: 'training.dpo.beta=-1', says: 'training.dpo.beta: found -1, expected at least' },
  { change: 'training.dpo.betta=1', says: 'training.dpo.betta: found an unknown key' },
  { change: '__proto__.polluted=1', says: 'the spec has no section __proto__' },
])('--set $change is refused by name', ({ change, says }) => {
  expect(() => fork(change)).toThrow(expect.objectContaining({ message: expect.stringContaining(says) }));
});

test('a fork from the last iteration asks for more of them', () => {
  const last = source.iterations;
  const request = { name: 'fork', iteration: last, changes: [] };
  expect(() => forkSpec(source, request)).toThrow(`ask for more with \`--set iterations=${last + 1}\``);
});
