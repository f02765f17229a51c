import { withoutThinking } from '../../../src/domain/rollout/thinking';

test.each([
  ['an answer without thinking', ' SELECT 1 ', ' SELECT 1 '],
  ['an answer after thinking', '<think>\nHow many?\n</think>\n\nSELECT 1', 'SELECT 1'],
  ['an answer whose prompt had opened the thinking', 'How many?</think>SELECT 1', 'SELECT 1'],
  ['an answer after two rounds of thinking', '<think>a</think>b<think>c</think>d', 'd'],
  ['an answer that was cut off while thinking', '<think>How many', ''],
  ['an answer that was cut off while thinking again', '<think>a</think><think>b', ''],
  ['an answer that mentions the tag', 'The tag <think> starts it', 'The tag <think> starts it'],
])('the action of %s', (_, answer, action) => {
  expect(withoutThinking(answer)).toBe(action);
});
