import { terminalLine } from '../../src/workers/worker-log';

test('text of another server in a log cannot send commands to the terminal', () => {
  const hostile = '\u001b]0;title\u0007\u009b2J\u202Ereversed';
  const line = terminalLine({
    level: 'WARN',
    timestampNanos: 0n,
    message: `Activity failed: ${hostile}`,
    meta: { activityType: hostile, error: new Error(hostile) },
  });
  expect(line).toContain(
    String.raw`1970-01-01T00:00:00.000Z [WARN] Activity failed: \x1b]0;title\x07\x9b2J\u202ereversed`,
  );
  expect(line.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
