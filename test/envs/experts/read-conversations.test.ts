import * as fc from 'fast-check';
import { expertRow } from '../../../src/envs/experts/expert-rows';
import { measureExperts } from '../../../src/envs/experts/measure-experts';
import { actionOf, formatAction } from '../../../src/domain/rollout/action-form';
import { readConversations } from '../../../src/envs/experts/read-conversations';

const eto = (id: string, ...actions: string[]) => ({
  id,
  conversations: [
    { from: 'human', value: 'You play a game.' },
    { from: 'gpt', value: 'OK' },
    { from: 'human', value: 'Find the door.' },
    ...actions.flatMap((value) => [
      { from: 'gpt', value },
      { from: 'human', value: 'Nothing happens.' },
    ]),
  ],
});

test('the actions of an ETO expert start after the "OK" to the instruction', () => {
  const rows = [eto('a', 'Thought: a door\nAction: open door', 'Action: go'), { ...eto('b', 'look'), reward: 0.8 }];
  for (const text of [JSON.stringify(rows), rows.map((row) => JSON.stringify(row)).join('\n')]) {
    const { conversations, refused } = readConversations(text, 'eto');
    expect(refused).toEqual([]);
    expect(conversations).toMatchObject([
      { id: 'a', actions: ['Thought: a door\nAction: open door', 'Action: go'], reward: null },
      { id: 'b', actions: ['look'], reward: 0.8 },
    ]);
  }
});

test.each([
  [{ id: 'a', conversations: [{ from: 'robot', value: 'x' }] }, 'conversations'],
  [{ id: 'a', conversations: [] }, 'conversations'],
  [eto('a'), 'contains no action'],
  [{ ...eto('a', 'look'), reward: 7 }, 'reward'],
  [{ conversations: eto('a', 'look').conversations }, 'id'],
  [null, 'row'],
])('row %# is rejected with its reason, and the other rows are read', (row, reason) => {
  const read = readConversations(JSON.stringify([row, eto('good', 'look')]), 'eto');
  expect(read.conversations.map(({ id }) => id)).toEqual(['good']);
  expect(read.refused[0]!.reason).toContain(reason);
});

test('a file that is not JSON is rejected as a whole', () => {
  expect(() => readConversations('{"id": 1}\nnot json', 'eto')).toThrow(/line 2/);
  expect(() => readConversations('', 'eto')).toThrow(/empty/);
});

const nonEmptyText = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '');
const trajectories = fc.record({
  task_id: nonEmptyText,
  pattern: fc.constant('p'),
  actions: fc.array(fc.record({ action: nonEmptyText, shown: fc.array(nonEmptyText, { maxLength: 2 }) }), {
    minLength: 1,
  }),
  reward: fc.constantFrom(0, 0.25, 1),
});

test('exported conversations in both formats can be read again', () => {
  fc.assert(
    fc.property(trajectories, fc.constantFrom('eto' as const, 'sharegpt' as const), (drawn, format) => {
      const conversation = [
        { role: 'system', content: 'Play.' },
        { role: 'user', content: 'Find it.' },
        ...drawn.actions.flatMap(({ action, shown }) => [
          { role: 'assistant', content: action },
          ...shown.map((content) => ({ role: 'tool', content })),
        ]),
      ];
      const row = expertRow({ ...drawn, conversation, turns: 0, characters: 0, function_characters: 0 }, format);
      const { conversations, refused } = readConversations(row, format);
      expect(refused).toEqual([]);
      const actions = drawn.actions.map(({ action }) => action);
      expect(conversations).toMatchObject([{ id: drawn.task_id, actions, reward: drawn.reward }]);
    }),
    { seed: 7 },
  );
});

test('an action keeps its thought in ReAct form and loses it in plain form', () => {
  expect(formatAction('Thought: so\nAction: go', 'react')).toBe('Thought: so\nAction: go');
  expect(formatAction('Thought: so\nAction: go', 'plain')).toBe('go');
  expect(formatAction('go', 'react')).toBe('Action: go');
  fc.assert(
    fc.property(fc.string(), (text) => actionOf(formatAction(actionOf(text), 'react')) === actionOf(text)),
    { seed: 7 },
  );
});

test('the table lists the row for all experts first and then the patterns by frequency', () => {
  const table = measureExperts([
    { pattern: 'b', turns: 2, characters: 10, reward: 1 },
    { pattern: 'a', turns: 4, characters: 30, reward: 0.5 },
    { pattern: 'b', turns: 6, characters: 20, reward: null },
  ]);
  expect(table.map(({ pattern, tasks }) => [pattern, tasks])).toEqual([
    ['all', 3],
    ['b', 2],
    ['a', 1],
  ]);
  expect(table[0]).toMatchObject({ turnsMin: 2, turnsMean: 4, turnsMax: 6, charactersMean: 20, charactersMax: 30 });
  expect(table[0]).toMatchObject({ rewardMean: 0.75, successes: 1 });
  expect(measureExperts([])).toEqual([]);
});
