import { zeroCandidates } from '../../../src/cli/inspect/zero-candidates';
import type { PhaseRow } from '../../../src/store/campaign/iterations';

const row = (iteration: number, phase: string, result: Record<string, unknown> | null): PhaseRow =>
  ({ iteration, phase, startedAt: new Date(0), finishedAt: new Date(1), result }) as PhaseRow;

test('a synthesis with candidates, or one that runs, needs no explanation', () => {
  expect(zeroCandidates([row(1, 'detect', {}), row(1, 'synthesize', { candidates: 3 })])).toEqual([]);
  expect(zeroCandidates([row(1, 'detect', {}), row(1, 'synthesize', null)])).toEqual([]);
});

test.each([
  [{ forgetting: 0, rare: 0 }, /^no candidates in iteration 2: no attempt raised a signal/],
  [{}, /^no candidates in iteration 2: no attempt raised a signal/],
  [{ forgetting: 4, rare: 1 }, /^no candidates in iteration 2: 5 signals flagged tasks, but no new task/],
])('with the signals %j, no candidates are explained', (signals, expected) => {
  const phases = [row(1, 'detect', { rare: 9 }), row(2, 'detect', signals), row(2, 'synthesize', { candidates: 0 })];
  expect(zeroCandidates(phases)).toEqual([expect.stringMatching(expected)]);
});

test('an initial pool without candidates is explained without signals', () => {
  expect(zeroCandidates([row(0, 'synthesize', { candidates: 0 })])[0]).toContain('for the initial pool');
});
