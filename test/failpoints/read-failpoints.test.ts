import { activityNames } from '../../src/activities';
import { failpointFile, failpointPositions, readFailpoints } from '../../src/failpoints/read-failpoints';

test('the variable names activities, positions and counts', () => {
  expect(readFailpoints('commitPhase:before, reflect:beforeAck:3', activityNames)).toEqual([
    { activity: 'commitPhase', position: 'before', nth: 1 },
    { activity: 'reflect', position: 'beforeAck', nth: 3 },
  ]);
});

test.each([
  {
    text: 'commitPhases:before',
    message: /^COEVOLVE_FAILPOINT: .*found "commitPhases", expected one of .*commitPhase,/,
  },
  {
    text: 'commitPhase:between',
    message: /found "between", expected one of before, afterEffect, afterCommit, beforeAck$/,
  },
  { text: 'commitPhase', message: /found "", expected one of before/ },
  { text: 'commitPhase:before:0', message: /expected <activity>:<position>\[:n\]/ },
  { text: 'commitPhase:before:1:1', message: /expected <activity>:<position>\[:n\]/ },
])('the value $text is rejected with the expected names', ({ text, message }) => {
  expect(() => readFailpoints(text, activityNames)).toThrow(message);
});

test('every activity and position has its own marker file', () => {
  const files = activityNames.flatMap((activity) =>
    failpointPositions.map((position) => failpointFile({ activity, position, nth: 1 })),
  );
  expect(new Set(files).size).toBe(activityNames.length * failpointPositions.length);
});
