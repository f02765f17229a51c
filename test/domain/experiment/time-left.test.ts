import { secondsLeft } from '../../../src/domain/experiment/time-left';

const times = { finished: [100, 300], running: [50, 500], waiting: 3, concurrency: 2 };

test('waiting cells take the mean of the finished ones, running cells the rest of it, and slots share them', () => {
  expect(secondsLeft(times)).toBe((3 * 200 + 150 + 0) / 2);
});

test('there is no estimate before the first cell has finished, nor after the last one', () => {
  expect(secondsLeft({ ...times, finished: [] })).toBeNull();
  expect(secondsLeft({ ...times, running: [], waiting: 0 })).toBeNull();
});
