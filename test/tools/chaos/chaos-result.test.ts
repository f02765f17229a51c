import { chaosResult, percentile } from '../../../tools/chaos/chaos-result';
import type { Generation } from '../../../tools/chaos/run-chaos';
import type { Check } from '../../../tools/chaos/verify-campaign';
import type { ContentHash } from '../../../src/store/audit/content-hash';

const content = { hash: 'h', parts: {} } as ContentHash;
const correct: Check = { name: 'eto-1', content, hashEqual: true, differs: [], broken: [], unfinished: null };
const broken = (breaks: 'lost' | 'duplicated' | 'wrong', count: number) => ({
  invariant: 'i',
  breaks,
  count,
  examples: [],
});

const generation = (changes: Partial<Generation> = {}): Generation => ({
  number: 1,
  seconds: 10,
  duplicate: false,
  kills: [],
  parked: [],
  checks: [correct],
  experiment: null,
  busy: { samples: 100, busy: 95 },
  work: { done: 100, repeated: 1 },
  ...changes,
});
const undisturbed = generation({ number: 0 });
const kill = (ms: number | null, overlaps = false) => ({
  target: 'trainer' as const,
  afterSeconds: 1,
  ms,
  cutOff: ms ? 1 : 0,
  overlaps,
});

test('a run with only correct campaigns is ok', () => {
  expect(chaosResult({ attemptsKilled: 0, undisturbed, generations: [generation()] })).toMatchObject({
    ok: true,
    lost: 0,
    duplicated: 0,
    hashEqual: true,
    wasteRatio: 0.01,
    ettr: 0.95,
    mttrP50Ms: null,
  });
});

test.each([
  ['a lost row', { broken: [broken('lost', 2)] }, { lost: 2 }],
  ['a row counted twice', { broken: [broken('duplicated', 3)] }, { duplicated: 3 }],
  ['another contradiction', { broken: [broken('wrong', 1)] }, { wrong: 1 }],
  ['another content', { hashEqual: false }, { hashEqual: false }],
  ['a campaign that did not finish', { unfinished: 'aborted' }, { lost: 1 }],
])('%s makes the run fail', (_label, changes, expected) => {
  const result = chaosResult({
    attemptsKilled: 0,
    undisturbed,
    generations: [generation({ checks: [correct, { ...correct, ...changes }] })],
  });
  expect(result).toMatchObject({ ok: false, ...expected, failures: [{ name: 'eto-1' }] });
});

test('another analysis of the experiment makes the run fail', () => {
  const experiment = { ...correct, name: 'smoke-1', hashEqual: false, differs: ['scores'] };
  expect(chaosResult({ attemptsKilled: 0, undisturbed, generations: [generation({ experiment })] })).toMatchObject({
    ok: false,
    hashEqual: false,
    failures: [{ name: 'smoke-1', differs: ['scores'] }],
  });
});

test('a run without a generation is not ok', () => {
  expect(chaosResult({ attemptsKilled: 0, undisturbed, generations: [] }).ok).toBe(false);
});

test('kills that interrupt nothing are counted but are in no percentile', () => {
  const kills = [kill(100), kill(null), kill(null, true), kill(300)];
  const { mttrP50Ms, mttrP95Ms, targets, ...rest } = chaosResult({
    attemptsKilled: 0,
    undisturbed,
    generations: [generation({ kills })],
  });
  expect([rest.kills, rest.overlapping, mttrP50Ms, mttrP95Ms]).toEqual([4, 1, 100, 300]);
  expect(targets['trainer']).toEqual({ kills: 4, cutOff: 2, p50Ms: 100, p95Ms: 300 });
});

test('activities that are executed twice on purpose are no waste', () => {
  const doubled = generation({ duplicate: true, work: { done: 100, repeated: 100 } });
  expect(chaosResult({ attemptsKilled: 0, undisturbed, generations: [generation(), doubled] }).wasteRatio).toBe(0.01);
});

test('a percentile is the nearest-rank percentile', () => {
  const values = Array.from({ length: 100 }, (_, n) => 100 - n);
  expect([percentile(values, 0.5), percentile(values, 0.95), percentile([], 0.5)]).toEqual([50, 95, null]);
});
