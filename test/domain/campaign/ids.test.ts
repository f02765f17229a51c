import { aimOfTask } from '../../../src/domain/campaign/ids';

test.each([
  ['synthesized/0/random/12.3', 'random'],
  ['synthesized/11/forgetting/0', 'forgetting'],
  ['of another make', 'random'],
])('the task %s was synthesized for %s', (id, aim) => {
  expect(aimOfTask(id)).toBe(aim);
});
