import { aimOfTask } from '../../../src/domain/campaign/ids';

test.each([
  ['synthesized/0/random/12.3', 'random'],
  ['synthesized/11/forgetting/0', 'forgetting'],
  ['imported/7', 'random'],
])('the aim of the task %s is %s', (id, aim) => {
  expect(aimOfTask(id)).toBe(aim);
});
