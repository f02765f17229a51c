import { divideTasks, type DividedTask } from '../../../src/domain/evaluation/divide-tasks';

const tasks = (features: Record<string, string | number>, count: number): DividedTask[] =>
  Array.from({ length: count }, () => ({ features: { ...features } }));

const countOf = (divided: readonly DividedTask[], pattern: string): number =>
  divided.filter(({ features }) => features['pattern'] === pattern).length;

test('every pattern is divided in the ratio of the sizes, also when the patterns alternate', () => {
  const alternating = Array.from({ length: 40 }, (_, n) => tasks({ pattern: n % 2 ? 'join' : 'count' }, 1)[0]!);
  const [dev, test] = divideTasks(alternating, [20, 20]);
  expect([dev, test].map((set) => [set!.length, countOf(set!, 'join')])).toEqual([
    [20, 10],
    [20, 10],
  ]);
  const [few, many] = divideTasks([...tasks({ pattern: 'a' }, 30), ...tasks({ pattern: 'b' }, 10)], [10, 30]);
  expect([countOf(few!, 'a'), countOf(few!, 'b'), countOf(many!, 'a'), countOf(many!, 'b')]).toEqual([8, 2, 22, 8]);
});

test('no task is in two sets, and tasks beyond the sizes are left out', () => {
  const all = tasks({ pattern: 'a' }, 12);
  const divided = divideTasks(all, [5, 4]).flat();
  expect(new Set(divided).size).toBe(9);
  expect(divided.every((task) => all.slice(0, 9).includes(task))).toBe(true);
});

test('the tasks of a scenario are in one set where the sizes allow it', () => {
  const scenarios = ['s1', 's2', 's3', 's4'].flatMap((scenario) => tasks({ scenario, pattern: scenario }, 3));
  const [dev, test] = divideTasks(scenarios, [6, 6]);
  const of = (set: readonly DividedTask[]): unknown[] => [...new Set(set.map(({ features }) => features['scenario']))];
  expect(of(dev!).filter((scenario) => of(test!).includes(scenario))).toEqual([]);
  const [uneven, rest] = divideTasks(scenarios, [7, 5]);
  expect([uneven!.length, rest!.length]).toEqual([7, 5]);
});
