import * as fc from 'fast-check';
import { corruptActions, type CorruptionKind } from '../../../src/domain/evaluation/corrupt-actions';
import { createRandom } from '../../../src/domain/random/seeded-random';
import { splitCalls } from '../../../src/domain/rollout/split-calls';

const sql = ["SELECT name FROM singer WHERE country = 'France' AND age > 30 LIMIT 3", 'submit'];
const calls = ["[cd(folder='document'), mkdir(dir_name='temp')]", "[mv(source='a.pdf', destination='temp')]", 'Done.'];
const others = [
  ["SELECT title FROM song WHERE title = 'Umbrella'", 'submit'],
  ['[ls(a=True)]', 'Done.'],
];

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const word = fc.stringMatching(/^[a-z]{1,6}$/);
const call = fc.tuple(word, word, fc.integer({ min: 0, max: 99 })).map(([f, t, n]) => `${f}(a='${t}', b=${n})`);
const list = fc.array(call, { minLength: 1, maxLength: 4 }).map((parts) => `[${parts.join(', ')}]`);
const sequence = fc.array(fc.oneof(list, fc.constant(sql[0]!)), { minLength: 1, maxLength: 5 });

const corrupt = (actions: readonly string[], seed: number, from: readonly (readonly string[])[] = others) =>
  corruptActions(actions, from, createRandom(seed));

const kindsOver = (actions: readonly string[]): Set<CorruptionKind> =>
  new Set(Array.from({ length: 40 }, (_, seed) => corrupt(actions, seed).map(({ kind }) => kind)).flat());

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
  const sorted = (actions: readonly string[]) => actions.flatMap((action) => splitCalls(action).calls).sort();
  fc.assert(
    fc.property(sequence, seeds, (actions, seed) => {
      for (const { kind, actions: version } of corrupt(actions, seed)) {
        if (kind === 'dropped-call') expect(count(version)).toBe(count(actions) - 1);
        if (kind === 'swapped') expect(sorted(version)).toEqual(sorted(actions));
        if (kind === 'other-task') expect(others).toContainEqual(version);
        if (kind === 'truncated') expect(version.join('').length).toBeLessThan(actions.join('').length);
        if (kind === 'changed-number' || kind === 'changed-text')
          expect(version.filter((action, i) => action !== actions[i])).toHaveLength(1);
      }
    }),
  );
});

test('the action that ends the attempt stays at the end', () => {
  for (const actions of [sql, calls])
    for (let seed = 0; seed < 40; seed++)
      for (const { kind, actions: version } of corrupt(actions, seed))
        if (kind !== 'other-task') expect(version.at(-1)).toBe(actions.at(-1));
});

test('a query can be corrupted in every way except by swapping its single statement', () => {
  expect(kindsOver(sql)).toEqual(
    new Set(['changed-number', 'changed-text', 'other-task', 'truncated', 'dropped-call']),
  );
});

test('a list of calls can be corrupted call by call', () => {
  expect(kindsOver(calls)).toEqual(new Set(['changed-text', 'other-task', 'truncated', 'dropped-call', 'swapped']));
  const dropped = Array.from({ length: 40 }, (_, seed) => corrupt(calls, seed)).flat();
  expect(dropped.filter(({ kind }) => kind === 'dropped-call').map(({ actions }) => actions[0])).toContain(
    "[mkdir(dir_name='temp')]",
  );
});

test('a changed text comes from another task if there is one, and a changed number is larger', () => {
  const versions = Array.from({ length: 20 }, (_, seed) => corrupt(sql, seed)).flat();
  const changed = (kind: CorruptionKind) =>
    versions.filter((version) => version.kind === kind).map(({ actions }) => actions[0]!);
  expect(new Set(changed('changed-text'))).toEqual(new Set([sql[0]!.replace('France', 'Umbrella')]));
  for (const text of changed('changed-number')) expect(text).toMatch(/age > (3[1-9]|30) LIMIT (?:[3-9]|1[0-2])$/);
  expect(corrupt(["say('a')"], 1, []).map(({ actions }) => actions)).toEqual([["say('ax')"]]);
});

test('actions without anything to change are not corrupted when there is no other task', () => {
  expect(corrupt(['submit'], 1, [])).toEqual([]);
});
