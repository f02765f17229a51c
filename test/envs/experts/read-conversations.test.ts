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

const said = (from: string, value: string, marks: object = {}) => ({ from, value, ...marks });

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
  [{ conversations: eto('a', 'look').conversations }, 'id'],
  [null, 'found null, expected conversations'],
  [
    { id: 'a', text: 'x' },
    'found id, text, expected conversations (of from and value), messages (of role and content)',
  ],
  [{ ...eto('a', 'look'), reward: 7 }, 'reward: found 7, expected at most 1'],
  [
    { id: 'a', conversations: [said('human', 'x'), said('gpt', 'look', { weight: 0.5 })] },
    'conversations.1.weight: found 0.5, expected 0 or 1',
  ],
])('row %# is rejected with its reason, and the other rows are read', (row, reason) => {
  const read = readConversations(JSON.stringify([row, eto('good', 'look')]), 'eto');
  expect(read.conversations.map(({ id }) => id)).toEqual(['good']);
  expect(read.refused[0]!.reason).toContain(reason);
});

test('a part of a message that is no text is named, with what may stand there', () => {
  const image = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x' } }] };
  const row = { id: 'a', messages: [image, { role: 'assistant', content: 'look' }] };
  expect(readConversations(JSON.stringify([row]), 'messages').refused).toEqual([
    {
      id: 'a',
      reason: expect.stringMatching(/^messages\.0\.content: found \[.*, expected a text or 0\.type with text$/),
    },
  ]);
});

const turns = [said('human', 'You are at home. Your task is: find it.'), said('gpt', 'look')];
const confirmed = (marks: object, answer = "OK. I'll follow your instructions and try my best to solve the task.") => [
  said('human', 'Interact with a household.', { loss: null }),
  said('gpt', answer, marks),
  ...turns,
];
const call = { name: 'get_weather', arguments: { city: 'Oslo', zip: '00150' } };
const written = `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`;

test.each([
  ["AgentGym's conversations", { item_id: 'pick_1', conversations: confirmed({ loss: false }) }, 'pick_1', ['look'], 1],
  ['a confirmation without a mark', { id: 'a', conversations: confirmed({}) }, 'a', ['look'], 1],
  ['another one', { id: 'a', conversations: confirmed({}, "I'm ready. Give me the task.") }, 'a', ['look'], 1],
  ['an action that begins as one', { id: 'a', conversations: confirmed({}, 'i look') }, 'a', ['i look', 'look'], 0],
  [
    'a preamble that is left out of the loss',
    { id: 'a', conversations: confirmed({ train: false }, 'go east') },
    'a',
    ['look'],
    1,
  ],
  [
    'an action that begins as a confirmation',
    { id: 'a', conversations: confirmed({}, 'Ok.\nAction: look') },
    'a',
    ['Ok.\nAction: look', 'look'],
    0,
  ],
  ['a lone answer', { id: 'a', conversations: [said('human', 'Is it?'), said('gpt', 'OK')] }, 'a', ['OK'], 0],
  [
    "AgentGym's episode",
    { episode_id: 0, data_idx: 7, total_reward: 0.4, transitions: [{ step: 1, action: 'up', observation: 'x' }] },
    '7',
    ['up'],
    0,
  ],
  [
    'calls of ShareGPT',
    {
      id: 3,
      conversations: [
        turns[0],
        said('function_call', JSON.stringify(call)),
        said('observation', '{}'),
        said('gpt', 'It rains.'),
      ],
    },
    '3',
    [written, 'It rains.'],
    0,
  ],
  [
    'messages of OpenAI',
    {
      id: 'a',
      messages: [
        { role: 'developer', content: 'Help.' },
        { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { ...call, arguments: JSON.stringify(call.arguments) } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'rain' },
        { role: 'assistant', content: 'Rain.', weight: 1 },
      ],
    },
    'a',
    [written, 'Rain.'],
    0,
  ],
])('%s are read with their actions', (...[, row, id, actions, leftOut]) => {
  const read = readConversations(JSON.stringify(row), 'auto');
  expect(read.refused).toEqual([]);
  expect(read.conversations).toMatchObject([{ id, actions }]);
  expect(read.leftOut).toBe(leftOut);
});

test("AgentGym's file of episodes has a conversation for each, with the reward that it claims", () => {
  const episodes = [0.4, 1].map((total_reward, data_idx) => ({
    data_idx,
    total_reward,
    transitions: [{ action: 'up' }],
  }));
  const { conversations } = readConversations(JSON.stringify({ episodes, statistics: {} }, null, 2), 'auto');
  expect(conversations.map(({ id, reward }) => [id, reward])).toEqual([
    ['0', 0.4],
    ['1', 1],
  ]);
});

test.each([[{ loss: false }], [{ weight: 0 }], [{ train: false }]])(
  'an action with %j after the first one is refused',
  (marks) => {
    const conversations = [
      ...turns,
      said('human', 'No.'),
      said('gpt', 'jump', marks),
      said('human', 'No.'),
      said('gpt', 'go'),
    ];
    const { refused } = readConversations(JSON.stringify({ id: 'a', conversations }), 'auto');
    expect(refused).toEqual([{ id: 'a', reason: expect.stringContaining('action 2: found loss, weight or train') }]);
  },
);

test('an unpaired surrogate in a file becomes the character with which it is stored', () => {
  const row = JSON.stringify({ id: 'a', conversations: [turns[0], said('gpt', 'half \ud83d')] });
  expect(readConversations(row, 'auto').conversations[0]!.actions).toEqual(['half \ufffd']);
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

test('exported conversations can be read again in each format', () => {
  fc.assert(
    fc.property(trajectories, fc.constantFrom('eto' as const, 'sharegpt' as const, 'trl' as const), (drawn, format) => {
      const conversation = [
        { role: 'system', content: 'Play.' },
        { role: 'user', content: 'Find it.' },
        ...drawn.actions.flatMap(({ action, shown }) => [
          { role: 'assistant', content: action },
          ...shown.map((content) => ({ role: 'tool', content })),
        ]),
      ];
      const row = expertRow(
        { ...drawn, conversation, turns: 0, max_turns: null, characters: 0, function_characters: 0, functions: [] },
        format,
      );
      const { conversations, refused } = readConversations(row, 'auto');
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
