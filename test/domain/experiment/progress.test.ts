import {
  endingLook,
  isComplete,
  nextCell,
  waitingCells,
  type ExperimentState,
  secondsLeft,
} from '../../../src/domain/experiment/progress';

type Cells = Parameters<typeof nextCell>[0];

const arm = (name: string, matches: string | null = null): ExperimentState['arms'][number] => ({
  name,
  matches,
  nondeterminism: [],
});
const cells = (changes: Partial<Cells> = {}): Cells => ({
  arms: [arm('signals'), arm('random', 'signals')],
  seeds: 2,
  futilityLook: null,
  concurrency: 1,
  stopped: [],
  running: [],
  closed: [],
  ...changes,
});
const named = (list: readonly { arm: string; seed: number }[]): string[] => list.map((c) => `${c.arm}-s${c.seed}`);
const signals = (seed: number) => ({ arm: 'signals', seed });
const random = (seed: number) => ({ arm: 'random', seed });
const finished = (cell: { arm: string; seed: number }) => ({ ...cell, status: 'finished' as const });

test('all arms of a seed start before those of the next seed', () => {
  expect(named(waitingCells(cells()))).toEqual(['signals-s1', 'random-s1', 'signals-s2', 'random-s2']);
});

test('a cell that matches another starts when the other has ended; meanwhile later cells start', () => {
  expect(nextCell(cells({ running: [signals(1)] }))).toEqual(signals(2));
  expect(nextCell(cells({ closed: [finished(signals(1))] }))).toEqual(random(1));
  expect(nextCell(cells({ running: [signals(1), signals(2)] }))).toBeUndefined();
});

test('cells that run at once are of different seeds, whose starts differ; a seed is completed before further ones begin', () => {
  const arms = [arm('none'), arm('static'), arm('oracle')];
  const order: string[] = [];
  let state = cells({ arms, seeds: 4, concurrency: 2 });
  for (let next = nextCell(state); next; next = nextCell(state)) {
    order.push(...named([next]));
    const running = [...state.running, next];
    // The one that runs longest ends when two run
    const ended = running.length === 2 ? [finished(running.shift()!)] : [];
    state = { ...state, running, closed: [...state.closed, ...ended] };
  }
  expect(order.slice(0, 8)).toEqual([
    'none-s1',
    'none-s2',
    'static-s1',
    'static-s2',
    'oracle-s1',
    'oracle-s2',
    'none-s3',
    'none-s4',
  ]);
  expect(order).toHaveLength(12);
});

test('no cell of a stopped arm starts, and none that matches one of its cells that has not begun', () => {
  const state = cells({ stopped: ['signals'], closed: [finished(signals(1))] });
  expect(named(waitingCells(state))).toEqual(['random-s1']);
  expect(isComplete(state)).toBe(false);
});

test('no cell beyond a test of futility starts before all cells of that look have ended', () => {
  const state = cells({ futilityLook: 1, closed: [finished(signals(1))], running: [random(1)] });
  expect(nextCell(state)).toBeUndefined();
  expect(nextCell({ ...state, running: [], closed: [...state.closed, { ...random(1), status: 'missing' }] })).toEqual(
    signals(2),
  );
});

test('futility is tested at the first of two looks, if the file has a limit', () => {
  const stopping = { futility: 0.1, usd: null, hours: null };
  expect(endingLook({ looks: [8, 16], stopping })).toBe(8);
  expect(endingLook({ looks: [8], stopping })).toBeNull();
  expect(endingLook({ looks: [8, 16], stopping: { ...stopping, futility: null } })).toBeNull();
});

const times = { finished: [100, 300], running: [50, 500], waiting: 3, concurrency: 2 };

test('waiting cells take the mean of the finished ones, running cells the rest of it, and slots share them', () => {
  expect(secondsLeft(times)).toBe((3 * 200 + 150 + 0) / 2);
});

test('there is no estimate before the first cell has finished, nor after the last one', () => {
  expect(secondsLeft({ ...times, finished: [] })).toBeNull();
  expect(secondsLeft({ ...times, running: [], waiting: 0 })).toBeNull();
});
