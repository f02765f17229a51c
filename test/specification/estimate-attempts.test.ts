import { estimateText } from '../../src/cli/campaign/estimate-text';
import { attemptSpeed, estimate } from '../../src/specification/estimate';
import { attemptsOf, type MeasuredLengths, type MeasuredSpeeds } from '../../src/specification/estimate-training';
import { resolveSpec } from '../../src/specification/read-spec';

/** Two turns of reference, each of 40 tokens behind an opening of 250, as in a text game. */
const lengths: MeasuredLengths = {
  trajectories: 1,
  mean: 330,
  min: 330,
  median: 330,
  max: 330,
  spread: 1,
  basis: "counted with the policy's tokenizer",
  rows: [{ tokens: 330, actionEnds: [260, 300], actionTokens: [10, 10] }],
  turnLimits: [30],
};
const speeds: MeasuredSpeeds = {
  training: { rate: 5_468, spread: 1.5, basis: 'probed now' },
  attempts: null,
  unknown: 'known later',
};
const specOf = (changes: object = {}, environment: object = {}) =>
  resolveSpec(
    { name: 'x', seed: 1, recipe: 'combined', environment: { name: 'textworld-express', ...environment }, ...changes },
    'x.yaml',
  );
const roomy = { training: { init: { maxPositions: 4096 } } };

test('an attempt that fails repeats its earlier turns in each prompt until the last turn', () => {
  const { solved, failed } = attemptsOf(specOf(roomy), lengths)!;
  expect(solved).toEqual({ turns: 2, row: 330, tokens: 260 + 300 });
  expect(failed).toEqual({ turns: 30, row: 260 + 29 * 40, tokens: 30 * 260 + 40 * ((30 * 29) / 2) });
});

test('the limit of the spec ends it earlier, and so do the positions of the policy', () => {
  const turnsOf = (spec: ReturnType<typeof specOf>) => attemptsOf(spec, lengths)!.failed.turns;
  expect(turnsOf(specOf(roomy, { maxTurns: 12 }))).toBe(12);
  expect(turnsOf(specOf({ training: { init: { maxPositions: 512 } } }))).toBe(7); // 260 + 6 * 40 = 500
  expect(attemptsOf(specOf(roomy), { ...lengths, turnLimits: null })).toBeNull();
});

test('the estimate names the tokens of both ends, and its range reaches from one to the other', () => {
  const spec = specOf({ ...roomy, iterations: 1 }, { trainTasks: 100, heldOutTasks: 40 });
  const found = estimate(spec, lengths, speeds);
  expect(found.policyAttempts).toBe(100 * 4 * 2 + 2 * 40);
  expect(estimateText(found)).toContain('492,800 to 22,176,000 tokens'); // 880 attempts of 560 or 25,200 tokens
  expect(estimateText(found)).toContain('one that fails until its last turn 30 turns and 25,200 tokens');
  const short = estimate(spec, { ...lengths, turnLimits: null }, speeds);
  expect(found.range!.high).toBeGreaterThan(4 * short.range!.high);
  expect(found.training.tokens).toBeGreaterThan(short.training.tokens); // pairs have a failing side
});

/**
 * Measured: 40 attempts of evaluation of 26,700 tokens, all until the last of 30 turns, in 115 s, and 160 of 23,700 tokens in
 * 336 s, on two cores on which a job of the same policy had 5,468 tokens a second.
 */
test.each([
  { attempts: 40, tokens: 26_700, seconds: 115 },
  { attempts: 160, tokens: 23_700, seconds: 336 },
])('$attempts attempts on textworld-express took $seconds s, within the range', ({ attempts, tokens, seconds }) => {
  const size = { turns: 30, row: 1_500, tokens };
  const { rate, spread } = attemptSpeed(specOf(roomy), speeds, { solved: size, failed: size })!;
  expect(attempts / rate / seconds).toBeGreaterThan(1 / spread);
  expect(attempts / rate / seconds).toBeLessThan(spread);
});
