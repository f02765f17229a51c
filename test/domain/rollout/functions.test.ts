import * as fc from 'fast-check';
import {
  functionsRole,
  summarizeFunctions,
  withFunctions,
  withFunctionsAsText,
  withFunctionsAsTools,
} from '../../../src/domain/rollout/functions';
import type { ChatMessage } from '../../../src/domain/rollout/turn';

const message = (role: string, content: string): ChatMessage => ({ role, content });
const list = (...names: string[]): ChatMessage =>
  message(functionsRole, JSON.stringify(names.map((name) => ({ name }))));
const lines = (...names: string[]): string => names.map((name) => `{"name":"${name}"}`).join('\n');

test('functions are added after the system messages of an observation', () => {
  const functions = [{ name: 'ls' }];
  const [system, user] = [message('system', 'Call functions.'), message('user', 'List files.')];
  expect(withFunctions([system, user], functions)).toEqual([system, list('ls'), user]);
  expect(withFunctions([user], functions)).toEqual([list('ls'), user]);
  expect(withFunctions([system], functions)).toEqual([system, list('ls')]);
  expect(withFunctions([], functions)).toEqual([list('ls')]);
});

test('the first functions are text in the system message before them', () => {
  const shown = withFunctionsAsText([message('system', 'Call functions.'), list('ls', 'cd'), message('user', 'Go.')]);
  expect(shown).toEqual([
    message(
      'system',
      `Call functions.\n\nYou may call these functions, one JSON object per line:\n${lines('ls', 'cd')}`,
    ),
    message('user', 'Go.'),
  ]);
});

test('functions without a system message before them are a system message', () => {
  expect(withFunctionsAsText([list('ls'), message('user', 'Go.')])).toEqual([
    message('system', `You may call these functions, one JSON object per line:\n${lines('ls')}`),
    message('user', 'Go.'),
  ]);
});

const opening = [list('ls', 'cd'), message('user', 'Go.'), message('assistant', '[ls()]')];

test.each([
  [
    'added functions',
    list('ls', 'cd', 'rm'),
    `You may also call these functions, one JSON object per line:\n${lines('rm')}`,
  ],
  [
    'other functions',
    list('cd', 'rm'),
    `You may now call only these functions, one JSON object per line:\n${lines('cd', 'rm')}`,
  ],
  ['no functions', list(), 'You may call no function any more.'],
])('%s later in the episode are text before the request after them', (_, later, expected) => {
  const shown = withFunctionsAsText([...opening, message('tool', 'ok'), later, message('user', 'Can you do it now?')]);
  expect(shown.slice(-2)).toEqual([
    message('tool', 'ok'),
    message('user', expect.stringMatching(/^You may .*\n\nCan you do it now\?$/s) as string),
  ]);
  expect(shown.at(-1)!.content).toContain(expected);
});

test('functions after which no request follows are a message of their own', () => {
  const shown = withFunctionsAsText([...opening, list('ls', 'cd', 'rm'), message('tool', 'ok'), list('ls')]);
  expect(shown.slice(3).map(({ role }) => role)).toEqual(['user', 'tool', 'user']);
});

test('an empty first list and an equal later list are no text', () => {
  const request = message('user', 'Go.');
  expect(withFunctionsAsText([list(), request])).toEqual([request]);
  expect(withFunctionsAsText([...opening, list('ls', 'cd'), request]).at(-1)).toEqual(request);
});

const observation = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom('system', 'user', 'tool'), fc.string()), { minLength: 1, maxLength: 3 }),
    fc.option(fc.array(fc.constantFrom('a', 'b', 'c'))),
  )
  .map(([messages, names]) => {
    const plain = messages.map(([role, content]) => message(role, content));
    return names
      ? withFunctions(
          plain,
          names.map((name) => ({ name })),
        )
      : plain;
  });

test('the prompt of each action is a prefix of the later conversation, so that training rows equal served prompts', () => {
  fc.assert(
    fc.property(fc.array(observation, { minLength: 1, maxLength: 5 }), (observations) => {
      const conversation = observations.flatMap((messages) => [...messages, message('assistant', 'act')]);
      const whole = withFunctionsAsText(conversation);
      let end = 0;
      for (const messages of observations) {
        const prompt = withFunctionsAsText(conversation.slice(0, (end += messages.length)));
        expect(whole.slice(0, prompt.length)).toEqual(prompt);
        expect(whole[prompt.length]).toEqual(message('assistant', 'act'));
        end += 1;
      }
      expect(whole.some(({ role }) => role === functionsRole)).toBe(false);
    }),
  );
});

test('a summary for people has the number and the names of the functions', () => {
  const functions = [{ name: 'ls' }, { type: 'function', function: { name: 'cd' } }, {}];
  expect(summarizeFunctions(JSON.stringify(functions))).toBe('3 functions: ls, cd, (without a name)');
});

describe('functions beside the messages, for a chat template', () => {
  const [go, called] = [message('user', 'Go.'), message('assistant', '[ls()]')];
  const tool = (name: string) => ({ type: 'function', function: { name } });

  test('are the first list, in the form of the OpenAI protocol', () => {
    expect(withFunctionsAsTools([list('ls', 'cd'), go, called])).toEqual({
      messages: [go, called],
      tools: [tool('ls'), tool('cd')],
    });
    const wrapped = message(functionsRole, JSON.stringify([tool('ls')]));
    expect(withFunctionsAsTools([wrapped, go])).toEqual({ messages: [go], tools: [tool('ls')] });
  });

  test('stay the same when a later list names others, which are text at their place', () => {
    const later = [list('ls', 'rm'), message('user', 'Now?')];
    const { messages, tools } = withFunctionsAsTools([list('ls'), go, called, ...later]);
    expect(tools).toEqual([tool('ls')]);
    expect(messages).toEqual([
      go,
      called,
      message('user', `You may also call these functions, one JSON object per line:\n${lines('rm')}\n\nNow?`),
    ]);
  });

  test('are text if they appear after an action', () => {
    const conversation = [go, called, list('rm'), message('user', 'Now?')];
    expect(withFunctionsAsTools(conversation)).toEqual({ messages: withFunctionsAsText(conversation) });
  });
});
