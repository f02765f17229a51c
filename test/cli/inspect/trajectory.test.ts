import { transcript } from '../../../src/cli/inspect/trajectory';
import type { TrajectoryRow } from '../../../src/store/trajectories/trajectories';

const trajectory = {
  id: '1/train/abc/t/0',
  outcome: 'scored',
  reward: 1,
  stopReason: 'completed',
  seed: 7,
  opening: [{ role: 'user', content: 'How many?' }],
  turns: [{ action: 'select 1', observation: [{ role: 'tool', content: '1\n2' }] }],
} as unknown as TrajectoryRow;

test('an attempt is printed turn by turn', () => {
  expect(transcript(trajectory, [])).toBe(
    `1/train/abc/t/0: scored, reward 1, completed, seed 7

user:
  How many?

assistant:
  select 1

tool:
  1
  2`,
  );
});

test('the text of an interrupted attempt contains the results of its resumes', () => {
  const resumes = [
    { outcome: 'mismatch', turns: 2, detail: 'turn 2 has another observation in the replay' },
    { outcome: 'resumed', turns: 1, detail: null },
  ] as const;
  expect(transcript(trajectory, resumes).split('\n').slice(0, 4)).toEqual([
    '1/train/abc/t/0: scored, reward 1, completed, seed 7',
    'interrupted, restarted: turn 2 has another observation in the replay',
    'interrupted, resumed after 1 replayed turn',
    '',
  ]);
});
