import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { estimateText } from '../../src/cli/campaign/estimate-text';
import type { CampaignSpec } from '../../src/specification/campaign-spec';
import { estimate } from '../../src/specification/estimate';
import { estimateJob, measuredTraining, type MeasuredSpeeds } from '../../src/specification/estimate-training';
import { readSpec, resolveSpec } from '../../src/specification/read-spec';

const example = (file: string): CampaignSpec =>
  readSpec(readFileSync(path.resolve(__dirname, '../../examples', file), 'utf8'), file);

const base = { name: 'x', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto' };
const specOf = (changes: object): CampaignSpec => resolveSpec({ ...base, ...changes }, 'x.yaml');

const adapted = { source: 'imported', model: 'm', precision: 'bfloat16', adapter: {} };
const gpus = { device: 'cuda', pricePerGpuHour: 3, processes: 2, sharding: 'fsdp' };

/** Returns the speeds of a probe; of a quickstart on two quiet cores by default. */
const probed = (rate = 14_300): MeasuredSpeeds => ({
  training: { rate, spread: 1.5, basis: 'probed now' },
  attempts: null,
  unknown: 'known later',
});

test('the estimate of the quickstart is within 1.5 times of the 75 seconds of README.md on two quiet cores', () => {
  const { seconds, training } = estimate(example('quickstart.yaml'), null, probed());
  expect(seconds).toBeGreaterThan(75 / 1.5);
  expect(seconds).toBeLessThan(75 * 1.5);
  expect(training).toMatchObject({ gpuSeconds: 0, usd: 0 });
  expect(training.phases.map(({ iteration, jobs }) => [iteration, jobs])).toEqual([
    [0, 2],
    [1, 1], // the failure agent plays no more
  ]);
});

test('earlier attempts replace a speed that follows from training, and their spread is that of the time', () => {
  const spec = example('quickstart.yaml');
  const slow = probed(7_000);
  const { seconds, range, training: ofTraining } = estimate(spec, null, slow);
  expect(seconds).toBeGreaterThan(1.8 * estimate(spec, null, probed()).seconds!); // half the speed, of attempts too
  expect(ofTraining.spread).toBe(1.5);
  const attempts = { rate: 80, spread: 1.25, basis: 'median of 3 phases' };
  const known = estimate(spec, null, { ...slow, attempts });
  expect(known.attemptSpeed).toBe('80 attempts/s (median of 3 phases)');
  const [ofJobs, ofAttempts] = [known.training.seconds! / 2, known.attempts / 80]; // two jobs at once
  expect(known.seconds! - known.range!.low).toBeCloseTo(ofJobs / 3 + ofAttempts / 5, -1);
  expect(known.range!.high - known.seconds!).toBeCloseTo(ofJobs / 2 + ofAttempts / 4, -1);
  expect(range!.high - range!.low).toBeGreaterThan(known.range!.high - known.range!.low);
});

test('updates that are set are counted as they are, and their tokens do not grow with the pool', () => {
  const training = { sft: { updates: 40 }, dpo: { updates: 25 } };
  const small = estimate(specOf({ training, iterations: 2 }));
  const large = estimate(specOf({ training, iterations: 2, environment: { ...base.environment, trainTasks: 1200 } }));
  expect([small.updates, large.updates]).toEqual([40 + 2 * 25, 40 + 2 * 25]);
  expect(large.training.tokens).toBe(small.training.tokens);
  // rows of 105 tokens in batches of 8; a pair has two rows
  expect(small.training.tokens).toBe(105 * 8 * (40 + 2 * 25 * 2));
});

test('updates of whole passes are estimated as the epochs that they are', () => {
  const epochs = specOf({ training: { sft: { epochs: 2 } } });
  const updates = specOf({ training: { sft: { updates: (2 * 600) / 8 } } });
  expect(estimate(updates)).toEqual(estimate(epochs));
});

test('further updates on experts alone are estimated without attempts at train tasks', () => {
  const training = { sft: { updates: 40 }, target: { updates: 25 } };
  const spec = specOf({ recipe: 'sft-continued', iterations: 3, training });
  const { attempts, updates, training: ofTraining } = estimate(spec);
  const { trainTasks, heldOutTasks } = spec.environment;
  expect(attempts).toBe(trainTasks + (1 + 3) * heldOutTasks); // expert trajectories and evaluations
  expect(updates).toBe(40 + 3 * 25);
  expect(ofTraining.tokens).toBe(105 * 8 * (40 + 3 * 25));
});

test('GPU-seconds are seconds times GPUs, the cost is their price, and the totals are the sums of the phases', () => {
  const expected = estimate(specOf({ policy: adapted, compute: gpus }), null, probed());
  const { training } = expected;
  for (const { seconds, gpuSeconds, usd } of training.phases) {
    expect(Math.abs(gpuSeconds! - 2 * seconds!)).toBeLessThanOrEqual(1);
    expect(usd).toBeCloseTo((gpuSeconds! / 3600) * 3, 2);
  }
  expect(training.tokens).toBe(training.phases.reduce((sum, { tokens }) => sum + tokens, 0));
  expect(estimateText(expected)).toMatch(
    /# training +tokens +job time +GPU time +cost\n# supervised start[^]*# total [^]*# assumed: 14,300 tokens\/s \(probed now\)/,
  );
});

test.each([
  { subject: 'jobs without a speed', spec: { policy: adapted }, gpuSeconds: 0 },
  { subject: 'jobs without a speed on a GPU', spec: { compute: { device: 'cuda' } }, gpuSeconds: null },
])('the time of $subject is reported as unknown', ({ spec, gpuSeconds }) => {
  const expected = estimate(specOf(spec), null, { ...probed(), training: null });
  expect(expected.seconds).toBeNull();
  expect(expected.training).toMatchObject({ tokens: expect.any(Number), seconds: null, gpuSeconds, usd: gpuSeconds });
  const text = estimateText(expected);
  expect(text).toContain('time unknown');
  expect(text).toContain('assumed: speed unknown (known later)');
});

test('the estimate leaves out a disabled supervised start and pairs beyond their limit', () => {
  const { training } = estimate(specOf({ start: 'base', iterations: 1, policy: adapted }));
  expect(training.phases.map(({ iteration }) => iteration)).toEqual([1]);
  const capped = { recipe: 'co-evolving-agents', iterations: 2, pairs: { failureAgent: { maxPairs: 1 } } };
  const less = estimate(specOf(capped)).training.tokens;
  expect(less).toBeLessThan(estimate(specOf({ ...capped, pairs: {} })).training.tokens);
});

test('a budget in US dollars is valid when GPUs have a price, also without language models', () => {
  const priced = { policy: adapted, compute: gpus, budget: { usd: 5 } };
  expect(specOf(priced).budget.usd).toBe(5);
  expect(() => specOf({ ...priced, compute: {} })).toThrow('without an llm section no model costs money');
});

test('rows are estimated with the greatest length of the method that trains on them', () => {
  const tokensOf = (training: object) =>
    estimate(specOf({ iterations: 1, training })).training.phases.map(({ tokens }) => tokens);
  const [start, later] = tokensOf({}) as [number, number]; // 105 tokens a row
  expect(tokensOf({ sft: { maxLength: 21 } })).toEqual([start / 5, later]);
  expect(tokensOf({ dpo: { maxLength: 35 } })).toEqual([start, later / 3]);
  const cut = specOf({ iterations: 1, training: { sft: { maxLength: 21 }, dpo: { maxLength: 35 } } });
  expect(estimate(cut).training.assumptions).toContain(', 21 or 35 tokens a trajectory (');
  const job = { method: 'dpo', rows: 100, steps: null } as const;
  const seconds = (training: object) => estimateJob(specOf({ training }), job, 1000) - measuredTraining.secondsToStart;
  expect(seconds({ dpo: { maxLength: 35 } })).toBeCloseTo(seconds({ sft: { maxLength: 21 } }) / 3, 9);
});

test('the prompts of language models contain a trajectory, so they are as long as those of the environment', () => {
  const spec = example('coevolve-llm.yaml');
  const short = estimate(spec).models!;
  const bfcl = {
    trajectories: 10,
    mean: 5105,
    min: 3599,
    median: 5105,
    max: 6058,
    spread: 1.1,
    basis: 'at 3.3 characters a token',
    rows: null,
    turnLimits: null,
  };
  const long = estimate(spec, bfcl).models!;
  expect(long.calls).toBe(short.calls);
  expect(long.tokens - short.tokens).toBe(5000 * short.calls); // short SQL tasks have 105
  expect(long.usd).toBeGreaterThan(2 * short.usd);
  expect(estimateText(estimate(spec))).toContain(
    '# assumed: prompts of 1,200 to 6,000 tokens (those of short SQL tasks), answers of 80 to 900 without thinking; 20 tokens/s, as no call was measured here\n',
  );
  expect(long.assumptions).toBe(
    "prompts of 6,200 to 11,000 tokens (with one of the environment's own trajectories), answers of 80 to 900 without thinking; 20 tokens/s, as no call was measured here",
  );
});

test('the printed lines of an estimate are YAML comments', () => {
  const text = estimateText(estimate(example('grpo.yaml')));
  expect(parse(`name: x\n${text}\n`)).toEqual({ name: 'x' });
});

test('calls of language models take time: that of earlier ones if there are any, as many at once as the provider takes', () => {
  const spec = example('coevolve-llm.yaml');
  const assumed = estimate(spec, null, probed());
  const without = estimate({ ...spec, llm: null }, null, probed());
  expect(assumed.seconds! - without.seconds!).toBeCloseTo(assumed.models!.seconds, -1);
  expect(assumed.models!.assumptions).toMatch(/; 20 tokens\/s, as no call was measured here$/);

  const purposes = ['reflector', 'explorer', 'abstractor', 'judge', 'solver'] as const;
  const measured = Object.fromEntries(purposes.map((purpose) => [purpose, { seconds: 40, calls: 20 }]));
  const concurrencyOf = (calls: number) =>
    new Map(Object.values(spec.llm!.models).map((m) => [m?.provider ?? '', calls]));
  const estimateAt = (calls: number) =>
    estimate(spec, null, { ...probed(), calls: { measured, concurrency: concurrencyOf(calls) } });
  const one = estimateAt(1);
  expect(one.models!.seconds).toBeCloseTo(40 * one.models!.calls, 5);
  expect(estimateAt(4).models!.seconds).toBeCloseTo(one.models!.seconds / 4, 5);
  expect(estimateAt(1e6).models!.seconds).toBeGreaterThan(40); // the calls of a context follow each other
  expect(one.models!.assumptions).toMatch(/; calls as long as 100 earlier ones$/);
  expect(estimateText(one)).toContain(`# about ${one.models!.calls.toLocaleString('en')} model calls`);
  expect(one.range!.high - one.seconds!).toBeGreaterThan(0.49 * one.models!.seconds);
});
