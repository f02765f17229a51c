import { separateAction } from '../../../src/domain/rollout/separate-action';

const fenced = '```python\nprint(1)\n```';

test.each([
  { answer: 'select 1', thinking: '', action: 'select 1' },
  {
    answer: 'I count first.\n<action>select count(*)\nfrom a</action>',
    thinking: 'I count first.',
    action: 'select count(*)\nfrom a',
  },
  {
    answer: 'I write <action>a</action> or rather\n<action>b</action> now',
    thinking: 'I write <action>a</action> or rather',
    action: 'b',
  },
  { answer: '<action>look', thinking: '', action: 'look' },
  {
    answer: '<think>Which?</think>So:\n<action>[ls()]</action>',
    thinking: '<think>Which?</think>\nSo:',
    action: '[ls()]',
  },
  { answer: 'No tag opens this.\n</think>\n\nselect 2', thinking: 'No tag opens this.\n</think>', action: 'select 2' },
  { answer: 'Thought: go on\nAction: click[Buy]', thinking: 'Thought: go on\nAction:', action: 'click[Buy]' },
  { answer: `First I print.\n${fenced}\nThat shows it.`, thinking: 'First I print.', action: fenced },
  { answer: `${fenced}\n${fenced}`, thinking: '', action: `${fenced}\n${fenced}` },
  { answer: '<think>never ends', thinking: '<think>never ends', action: '' },
  { answer: '', thinking: '', action: '' },
])('$answer is the action $action', ({ answer, thinking, action }) => {
  expect(separateAction(answer)).toEqual({ thinking, action });
});
