import { bareActionOf, separateThinking, withoutThinking, withThinking } from '../../../src/domain/rollout/thinking';

test.each([
  ['an answer without thinking', ' SELECT 1 ', ' SELECT 1 '],
  ['an answer after thinking', '<think>\nHow many?\n</think>\n\nSELECT 1', 'SELECT 1'],
  ['an answer whose prompt had opened the thinking', 'How many?</think>SELECT 1', 'SELECT 1'],
  ['an answer after two rounds of thinking', '<think>a</think>b<think>c</think>d', 'd'],
  ['an answer that was cut off while thinking', '<think>How many', ''],
  ['an answer that was cut off while thinking again', '<think>a</think><think>b', ''],
  ['an answer before thinking that was cut off', '<think>a</think>SELECT 1\n<think>b', 'SELECT 1'],
  ['an answer that mentions the tag', 'The tag <think> starts it', 'The tag <think> starts it'],
])('the action of %s', (_, answer, action) => {
  expect(withoutThinking(answer)).toBe(action);
  expect(bareActionOf(answer)).toBe(action === answer ? null : action);
});

test.each([
  ['thinking with a draft', '<think>{"a":1}</think>\n\n{"a":2}', '{"a":2}'],
  ['thinking that the prompt had opened', 'Is {"a":1} right?\n</think>\n\n{"a":2}', '{"a":2}'],
  ['thinking alone', '<think>{"a":1}', ''],
  ['no thinking', ' {"a":2}', ' {"a":2}'],
  ['an answer that quotes the tags', '{"a":"</think>{}"}', '{"a":"</think>{}"}'],
  [
    'thinking and an answer that quotes the tags',
    '<think>b</think>{"a":"<think>c</think>"}',
    '{"a":"<think>c</think>"}',
  ],
])('the parsed text of a reply with %s has no thinking', (_, reply, text) => {
  const separated = separateThinking(reply);
  expect(separated.text).toBe(text);
  expect(reply.startsWith(separated.thinking)).toBe(true);
});

test('thinking that the server has separated is kept in the tags, and is no action', () => {
  expect(withThinking('How many?', 'SELECT 1')).toBe('<think>How many?</think>SELECT 1');
  expect(withoutThinking(withThinking('How many?', 'SELECT 1'))).toBe('SELECT 1');
  expect(withoutThinking(withThinking('How many', null))).toBe('');
});
