import { actionOf, formatAction } from '../../../src/domain/rollout/action-form';

const react = 'Thought: Action: is not at the start of a line.\n \taction \t:\t SELECT 1\n';

test.each([
  { text: 'SELECT 1', action: 'SELECT 1' },
  { text: ' submit\n', action: 'submit' },
  { text: react, action: 'SELECT 1' },
  { text: 'Action: first\nAction: second\n', action: 'second' },
  { text: 'Action:SELECT 1', action: 'SELECT 1' },
  { text: 'Reaction: none', action: 'Reaction: none' },
  { text: 'Interaction: none', action: 'Interaction: none' },
])('the action of $text is the text after its last action line', ({ text, action }) => {
  expect(actionOf(text)).toBe(action);
  expect(formatAction(text, 'plain')).toBe(action);
});

test('in ReAct form an action keeps its thought, and a plain action gets an action line', () => {
  expect(formatAction(react, 'react')).toBe(react);
  expect(formatAction('SELECT 1', 'react')).toBe('Action: SELECT 1');
});
