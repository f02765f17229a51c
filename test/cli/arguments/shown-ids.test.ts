import { idWithin, withoutWorkflowForm } from '../../../src/cli/arguments/shown-ids';

test.each([
  ['campaign', 'my-first', 'my-first'],
  ['campaign', 'campaign/my-first', 'my-first'],
  ['campaigns', 'campaign/my-first/iteration/3/epoch/2/train/target', 'my-first'],
  ['campaign', 'campaign', 'campaign'],
  ['policy', 'campaign/my-first', 'my-first'],
  ['policy', '0a1b2c', '0a1b2c'],
  ['cell', 'campaign/study-signals-1', 'study-signals-1'],
  ['id', 'campaign/my-first/1/train/abc/task/0', 'my-first/1/train/abc/task/0'],
  ['origin', 'campaign/my-first/synthesized/1/rare/0', 'my-first/synthesized/1/rare/0'],
  ['name', 'experiment/study', 'study'],
  ['file-or-name', 'experiment/study', 'study'],
  ['file-or-name', 'experiment/study.yaml', 'experiment/study.yaml'],
  ['folder', 'campaign/my-first', 'campaign/my-first'],
])('the argument %s takes %s as %s', (argument, value, expected) => {
  expect(withoutWorkflowForm(argument, value)).toBe(expected);
});

test.each([
  ['1/train/abc/task/0', '1/train/abc/task/0'],
  ['my-first/1/train/abc/task/0', '1/train/abc/task/0'],
  ['campaign/my-first/synthesized/1/rare/0', 'synthesized/1/rare/0'],
  ['other/1/train', 'other/1/train'],
])('the id %s within my-first is %s', (id, expected) => {
  expect(idWithin('my-first', id)).toBe(expected);
});
