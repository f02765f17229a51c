import * as fc from 'fast-check';
import { corruptActions, type Corruption, type CorruptionKind } from '../../../src/domain/evaluation/corrupt-actions';
import { compareText } from '../../../src/domain/compare-text';
import { createRandom } from '../../../src/domain/random/seeded-random';
import { splitCalls } from '../../../src/domain/rollout/split-calls';

const sql = ["SELECT name FROM singer WHERE country = 'France' AND age >= 30 LIMIT 3", 'submit'];
const calls = ["[cd(folder='document'), mkdir(dir_name='temp')]", "[mv(source='a.pdf', destination='temp')]", 'Done.'];
const alike = [["SELECT age FROM singer WHERE name = 'Joe'", 'submit']];
const others = [
  ["SELECT title FROM song WHERE title = 'Umbrella'", 'submit'],
  ['[ls(a=True)]', 'Done.'],
];

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const word = fc.stringMatching(/^[a-z]{1,6}$/);
const call = fc.tuple(word, word, fc.integer({ min: 0, max: 99 })).map(([f, t, n]) => `${f}(a='${t}', b=${n})`);
const list = fc.array(call, { minLength: 1, maxLength: 4 }).map((parts) => `[${parts.join(', ')}]`);
const step = fc.oneof(list, fc.constant(sql[0]!));
const sequence = fc.tuple(fc.array(step, { minLength: 1, maxLength: 4 }), step).map(([steps, end]) => [...steps, end]);

const corrupt = (actions: readonly string[], seed: number, donors = { alike, others }) =>
  corruptActions({ actions, closes: true }, donors, createRandom(seed));

const overSeeds = (make: (seed: number) => Corruption[], count = 40): Corruption[] =>
  Array.from({ length: count }, (_, seed) => make(seed)).flat();

const kindsOver = (actions: readonly string[]): Set<CorruptionKind> =>
  new Set(overSeeds((seed) => corrupt(actions, seed)).map(({ kind }) => kind));

test('every version differs from the original and has no empty action', () => {
  fc.assert(
    fc.property(sequence, seeds, (actions, seed) => {
      for (const { actions: version } of corrupt(actions, seed)) {
        expect(version).not.toEqual(actions);
        expect(version.length).toBeGreaterThan(0);
        expect(version.every((action) => action.trim() !== '' && action !== '[]')).toBe(true);
      }
    }),
  );
});

test('there is at most one version of each kind, and the same seed gives the same versions', () => {
  fc.assert(
    fc.property(sequence, seeds, (actions, seed) => {
      const versions = corrupt(actions, seed);
      expect(new Set(versions.map(({ kind }) => kind)).size).toBe(versions.length);
      expect(corrupt(actions, seed)).toEqual(versions);
    }),
  );
});

test('every kind of corruption makes the change of its name', () => {
  const count = (actions: readonly string[]) => actions.flatMap((action) => splitCalls(action).calls).length;
  const sorted = (actions: readonly string[]) =>
    actions.flatMap((action) => splitCalls(action).calls).sort(compareText);
  fc.assert(
    fc.property(sequence, seeds, (actions, seed) => {
      for (const { kind, actions: version } of corrupt(actions, seed)) {
        if (kind === 'dropped-call') expect(count(version)).toBe(count(actions) - 1);
        if (kind === 'swapped') expect(sorted(version)).toEqual(sorted(actions));
        if (kind === 'other-task') expect(others).toContainEqual(version);
        if (kind === 'other-request') expect(alike).toContainEqual(version);
        if (kind === 'extra-action') expect(version).toHaveLength(actions.length + 1);
        if (kind === 'partial') expect(version.join('').length).toBeLessThan(actions.join('').length);
        if (kind.startsWith('changed-')) expect(version.filter((action, i) => action !== actions[i])).toHaveLength(1);
      }
    }),
  );
});

test('an action that ends the session stays at the end', () => {
  for (const actions of [sql, calls])
    for (const { kind, actions: version } of overSeeds((seed) => corrupt(actions, seed)))
      if (!kind.startsWith('other-')) expect(version.at(-1)).toBe(actions.at(-1));
});

test('a query is made wrong like an author makes it wrong: by a clause, a comparison, a value, another query', () => {
  const versions = overSeeds((seed) => corrupt(sql, seed));
  const queries = (kind: CorruptionKind) =>
    new Set(versions.filter((version) => version.kind === kind).map(({ actions }) => actions[0]!));
  expect(queries('partial')).toEqual(new Set([sql[0]!.replace(' LIMIT 3', '')]));
  expect(queries('changed-comparison')).toEqual(new Set([sql[0]!.replace('>=', '>')]));
  expect(queries('changed-text')).toEqual(new Set([sql[0]!.replace('France', 'Joe')]));
  for (const text of queries('changed-number')) expect(text).toMatch(/age >= (3[1-9]|30) LIMIT (?:[3-9]|1[0-2])$/);
  expect(kindsOver(sql)).toEqual(
    new Set<CorruptionKind>([
      ...(['partial', 'changed-comparison', 'changed-number', 'changed-text'] as const),
      ...(['extra-action', 'other-request', 'other-task'] as const),
    ]),
  );
  expect(corrupt(["say('a')", 'submit'], 1, { alike: [], others: [] }).map(({ actions }) => actions)).toEqual([
    ["say('ax')", 'submit'],
  ]);
});

test.each([
  ['SELECT MAX(age) FROM singer', 'SELECT MIN(age) FROM singer'],
  ['SELECT a FROM t ORDER BY b DESC', 'SELECT a FROM t ORDER BY b ASC'],
  ['SELECT a FROM t WHERE b<3', 'SELECT a FROM t WHERE b<=3'],
  ['SELECT a FROM t WHERE b > 3', 'SELECT a FROM t WHERE b >= 3'],
])('the comparison of "%s" is changed', (query, changed) => {
  const found = corrupt([query, 'submit'], 1).find(({ kind }) => kind === 'changed-comparison');
  expect(found?.actions[0]).toBe(changed);
});

test('an arrow and a tag are no comparisons', () => {
  for (const text of ['f(x => y)', '<tool>', 'a -> b', 'a <> b'])
    expect(corrupt([text, 'end'], 1).map(({ kind }) => kind)).not.toContain('changed-comparison');
});

test('a list of calls is corrupted call by call, and the last one is missing in a partial answer', () => {
  const versions = overSeeds((seed) => corrupt(calls, seed));
  expect(new Set(versions.map(({ kind }) => kind))).toEqual(
    new Set<CorruptionKind>([
      ...(['partial', 'changed-text', 'extra-action', 'other-request', 'other-task'] as const),
      ...(['dropped-call', 'swapped'] as const),
    ]),
  );
  const partial = versions.find(({ kind }) => kind === 'partial')!;
  expect(partial.actions).toEqual([calls[0], 'Done.']);
});

test('commands of words are exchanged with others of the same verb, and a world that ends by its goal lacks the last one', () => {
  const commands = ['take brown coat', 'put brown coat in coat hanger'];
  const donors = { alike: [['take straw hat', 'put straw hat in hat rack']], others: [] };
  const versions = overSeeds((seed) =>
    corruptActions({ actions: commands, closes: false }, donors, createRandom(seed)),
  );
  const of = (wanted: CorruptionKind) => versions.filter(({ kind }) => kind === wanted).map(({ actions }) => actions);
  expect(of('partial')[0]).toEqual(['take brown coat']);
  expect(of('changed-command')).toContainEqual(['take straw hat', commands[1]]);
  expect(of('changed-command')).toContainEqual([commands[0], 'put straw hat in hat rack']);
});

test('the mistakes of an author come before the easier corruptions', () => {
  const easy: readonly CorruptionKind[] = ['other-task', 'dropped-call', 'swapped'];
  for (let seed = 0; seed < 40; seed++) {
    const kinds = corrupt(calls, seed).map(({ kind }) => easy.includes(kind));
    expect(kinds.slice(kinds.indexOf(true)).every(Boolean)).toBe(true);
  }
});

test('actions without anything to change are not corrupted when there is no other task', () => {
  expect(corrupt(['submit'], 1, { alike: [], others: [] })).toEqual([]);
});
