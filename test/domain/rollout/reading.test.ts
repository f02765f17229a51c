import { promptOf } from '../../../src/domain/rollout/reading';

test('a prompt without earlier thinking has the same messages and only the actions', () => {
  const conversation = [
    { role: 'user', content: 'Explain </think>.' },
    { role: 'assistant', content: '<think>How?</think>done', action: 'done' },
  ];
  const shown = (thinking: 'keep' | 'drop') => promptOf(conversation, { thinking, functions: 'text' }).messages;
  expect(shown('drop')).toEqual([conversation[0], { role: 'assistant', content: 'done' }]);
  expect(shown('keep')).toEqual([conversation[0], { role: 'assistant', content: '<think>How?</think>done' }]);
});
