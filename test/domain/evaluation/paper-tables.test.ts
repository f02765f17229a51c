import { exactMcNemar, mean } from '../../../src/domain/evaluation/statistics';

/** Numbers as printed in "CoEvolve", arXiv:2604.15840v1. The tests recompute their consequences. */

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const sampleVariance = (values: readonly number[]): number => {
  const centre = mean(values);
  return sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1);
};
const populationVariance = (values: readonly number[]): number =>
  (sampleVariance(values) * (values.length - 1)) / values.length;

/** AppWorld TestN TGC and SGC, TestC TGC and SGC, BFCL V3 multi-turn base; their mean. */
const table1 = [
  { model: 'Claude-Sonnet-4.5', scores: [73.81, 55.36, 49.88, 32.37, 69.0], average: 56.08 },
  { model: 'GPT-4', scores: [30.4, 21.4, 14.6, 9.3, 54.0], average: 25.94 },
  { model: 'Gemini-2.5-Flash', scores: [53.57, 32.14, 40.05, 20.14, 41.5], average: 37.48 },
  { model: 'DeepSeek-V3.2', scores: [47.02, 30.36, 22.78, 9.35, 41.5], average: 30.2 },
  { model: 'GPT-OSS-20B', scores: [17.86, 3.57, 5.52, 0.0, 14.0], average: 8.19 },
  { model: 'LLaMA-3.3-70B', scores: [31.54, 8.92, 16.31, 4.32, 26.0], average: 17.42 },
  { model: 'Gemma-3-27B', scores: [23.81, 7.14, 9.83, 0.72, 16.5], average: 11.6 },
  { model: 'Qwen2.5-7B zero-shot', scores: [1.19, 0.0, 0.72, 0.0, 13.5], average: 3.08 },
  { model: 'Qwen2.5-7B CoEvolve', scores: [27.98, 12.5, 8.39, 2.16, 61.5], average: 22.51 },
  { model: 'Qwen3-4B zero-shot', scores: [16.67, 5.36, 7.91, 2.16, 26.5], average: 11.72 },
  { model: 'Qwen3-4B CoEvolve', scores: [35.71, 14.28, 17.03, 6.47, 63.0], average: 27.3 },
  { model: 'Qwen3-30B-A3B zero-shot', scores: [31.55, 12.5, 19.9, 5.76, 43.5], average: 22.64 },
  { model: 'Qwen3-30B-A3B CoEvolve', scores: [54.76, 33.93, 31.65, 16.55, 67.0], average: 40.78 },
];

test.each(table1)('the average of $model in table 1 is the mean of its five scores', ({ scores, average }) => {
  expect(Math.abs(mean(scores) - average)).toBeLessThan(0.0051); // two decimals are printed
});

/** Percentage of the tasks solved by both policies, by one of them, or by none. */
const table8 = [
  { benchmark: 'BFCL', both: 53, onlyGrpo: 5, onlyCoEvolve: 10, neither: 32, grpo: 58, coEvolve: 63, tasks: 200 },
  {
    benchmark: 'AppWorld',
    both: 19.04,
    onlyGrpo: 9.53,
    onlyCoEvolve: 16.67,
    neither: 54.76,
    grpo: 28.57,
    coEvolve: 35.71,
    tasks: 168,
  },
];

test.each(table8)('the paired shares of table 8 on $benchmark add up to the success rates of table 2', (row) => {
  expect(row.both + row.onlyGrpo).toBeCloseTo(row.grpo, 2);
  expect(row.both + row.onlyCoEvolve).toBeCloseTo(row.coEvolve, 2);
  expect(row.both + row.onlyGrpo + row.onlyCoEvolve + row.neither).toBeCloseTo(100, 2);
});

test.each(table8)('the gain over GRPO on $benchmark is within chance at 5 %: table 8, exact McNemar', (row) => {
  const [onlyGrpo, onlyCoEvolve] = [row.onlyGrpo, row.onlyCoEvolve].map((share) =>
    Math.round((share / 100) * row.tasks),
  );
  const expected = { BFCL: [10, 20, 0.099], AppWorld: [16, 28, 0.096] }[row.benchmark]!;
  const p = exactMcNemar(onlyGrpo!, onlyCoEvolve!);
  expect([onlyGrpo, onlyCoEvolve, Number(p.toFixed(3))]).toEqual(expected);
  expect(p).toBeGreaterThan(0.05);
});

/** Seconds of one synthesis round and of the training as a whole; score without and with feedback. */
const table7 = [
  {
    benchmark: 'AppWorld',
    roundSeconds: 811,
    totalSeconds: 100_596,
    share: 9.67,
    before: 28.57,
    after: 35.12,
    gain: 22.92,
  },
  {
    benchmark: 'BFCL',
    roundSeconds: 480,
    totalSeconds: 45_144,
    share: 12.76,
    before: 58,
    after: 63,
    gain: 8.62,
  },
];

test('120 steps with feedback every 10 are 12 rounds, as many as table 15 has rows', () => {
  expect(120 / 10).toBe(12);
  expect(table15).toHaveLength(12);
});

test.each(table7)('12 rounds of $roundSeconds s are $share % of the time on $benchmark: table 7', (row) => {
  expect(((12 * row.roundSeconds) / row.totalSeconds) * 100).toBeCloseTo(row.share, 2);
});

test.each(table7)('from $before to $after on $benchmark is a relative gain of $gain %: table 7', (row) => {
  expect(Math.abs((row.after / row.before - 1) * 100 - row.gain)).toBeLessThan(0.0101);
});

/** SR and EDrel in percent after every tenth step. */
const table15 = [
  { step: 10, sr: 22.57, edRel: 0.92 },
  { step: 20, sr: 28.61, edRel: 3.11 },
  { step: 30, sr: 16.16, edRel: 0.76 },
  { step: 40, sr: 19.11, edRel: 0.24 },
  { step: 50, sr: 26.14, edRel: 1.65 },
  { step: 60, sr: 21.24, edRel: 0.79 },
  { step: 70, sr: 17.91, edRel: 0.37 },
  { step: 80, sr: 19.82, edRel: 0.5 },
  { step: 90, sr: 22.78, edRel: 1.2 },
  { step: 100, sr: 14.76, edRel: -0.11 },
  { step: 110, sr: 22.22, edRel: 0.46 },
  { step: 120, sr: 25.92, edRel: 1.49 },
];

test.each([
  { name: 'SR', values: table15.map(({ sr }) => sr), average: 21.44, variance: 17.3, ofPopulation: 15.86 },
  { name: 'EDrel', values: table15.map(({ edRel }) => edRel), average: 0.95, variance: 0.73, ofPopulation: 0.66 },
])("the mean of $name in table 15 is printed, and its variance is the sample's", (column) => {
  expect(mean(column.values)).toBeCloseTo(column.average, 2);
  expect(Math.abs(sampleVariance(column.values) - column.variance)).toBeLessThan(0.0051);
  expect(populationVariance(column.values)).toBeCloseTo(column.ofPopulation, 2);
});

test('the relative energy distance of step 100 is negative, which the printed formula cannot give', () => {
  expect(table15.filter(({ edRel }) => edRel < 0).map(({ step }) => step)).toEqual([100]);
});

/** Success rates in percent of GRPO and CoEvolve in table 2, for 7B, 4B and 30B-A3B. */
const table2 = [
  { benchmark: 'AppWorld', tasks: 168, grpo: [26.78, 28.57, 48.81], coEvolve: [27.98, 35.71, 54.76] },
  { benchmark: 'BFCL', tasks: 200, grpo: [56, 58, 64], coEvolve: [61.5, 63, 67] },
];

test.each(table2)('every rate on $benchmark in table 2 is a count out of $tasks', ({ tasks, grpo, coEvolve }) => {
  for (const rate of [...grpo, ...coEvolve]) {
    const count = Math.round((rate / 100) * tasks);
    expect(Math.abs((count / tasks) * 100 - rate)).toBeLessThan(0.0101); // the paper truncates some
  }
});

test('the gain over GRPO is 1.20 to 7.14 points, while the abstract states the gain over zero-shot', () => {
  const gains = table2.map(({ grpo, coEvolve }) => coEvolve.map((score, i) => Number((score - grpo[i]!).toFixed(2))));
  expect(gains).toEqual([
    [1.2, 7.14, 5.95],
    [5.5, 5, 3],
  ]);
});

test('32 tasks with 8 rollouts over 10 steps are 2560 rollouts between two rounds', () => {
  expect(32 * 8 * 10).toBe(2560);
});
