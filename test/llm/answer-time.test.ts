import { answerTimes, firstTimeoutSeconds } from '../../src/llm/answer-time';

test('before the first answer, the time-out is that of a slow model on a busy machine, and at most an hour', () => {
  expect(firstTimeoutSeconds(1024)).toBe(632); // 1.8 tokens per second were measured: 569 s
  expect(answerTimes().timeoutSeconds(1024)).toBe(632);
  expect(answerTimes().timeoutSeconds(20_000)).toBe(3600);
  expect(answerTimes().timeoutSeconds(0)).toBe(120); // an embedding
});

test.each([
  { speed: 1.8, tokens: 1024 },
  { speed: 9, tokens: 1024 },
  { speed: 60, tokens: 16_384 },
])('an answer as slow as the slowest of the last ones, $speed tokens per second, has three times its time', (each) => {
  const times = answerTimes();
  times.answered(400, 400 / each.speed);
  times.answered(400, 400 / (10 * each.speed));
  expect(times.timeoutSeconds(each.tokens)).toBe(Math.min(3600, Math.ceil(120 + (3 * each.tokens) / each.speed)));
});

test('a short answer is no measurement of the speed, and old measurements are forgotten', () => {
  const times = answerTimes();
  times.answered(4, 60); // read a long prompt, wrote "submit"
  expect(times.timeoutSeconds(100)).toBe(firstTimeoutSeconds(100));
  times.answered(100, 100);
  for (let answer = 0; answer < 16; answer++) times.answered(100, 1);
  expect(times.timeoutSeconds(1000)).toBe(150);
});

test('each call that times out doubles the time of the next one, up to an hour, until an answer arrives', () => {
  const times = answerTimes();
  times.answered(100, 1);
  const seconds = [];
  for (let call = 0; call < 6; call++) {
    seconds.push(times.timeoutSeconds(1000));
    times.timedOut(seconds.at(-1)!);
  }
  expect(seconds).toEqual([150, 300, 600, 1200, 2400, 3600]);
  times.answered(100, 20);
  expect(times.timeoutSeconds(1000)).toBe(720);
});
