import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { z } from 'zod';
import { prompts } from '../../../src/llm/prompts';
import { explorePrompts } from '../../../src/llm/prompts/explore-prompts';
import { abstractionPrompt } from '../../../src/llm/prompts/abstraction';
import { fillTemplate, promptId } from '../../../src/llm/prompts/prompt';
import { formatLength } from '../../../src/llm/prompts/task-length';
import { reflectionPrompt } from '../../../src/llm/prompts/reflection';
import { wordingPrompt } from '../../../src/llm/prompts/wording';
import { pinned } from './pinned';

const digest = ({ template, schema }: (typeof prompts)[number]): string =>
  createHash('sha256')
    .update(JSON.stringify([template, schema ? z.toJSONSchema(schema) : null]))
    .digest('hex');

describe('a changed prompt needs a new version', () => {
  test.each(prompts.map((prompt) => [promptId(prompt), prompt] as const))('%s', (id, prompt) => {
    expect({ [id]: digest(prompt) }).toEqual({ [id]: pinned[id] });
  });

  test('prompt names are unique', () => {
    expect(new Set(prompts.map(({ name }) => name)).size).toBe(prompts.length);
  });
});

const opening = [
  { role: 'system', content: 'Write one query at a time.' },
  { role: 'user', content: 'Question: how many {{opening}}?' },
];
const turns = [{ action: 'select $& from {{goal}}', observation: [{ role: 'user', content: '[(1,)]' }] }];
const textOf = (messages: readonly { content: string }[]): string => messages.map(({ content }) => content).join('\n');

const noAim = { kind: 'random', goal: 'Count them.', detail: null, reflection: null } as const;
const length = { least: 1, target: null };
const examples = [{ goal: 'Name the {{ports}}.', actions: ['select name from port'] }];
const reflection = {
  summary: 'it tried',
  failureCause: 'no join',
  instabilityPattern: 'wavers',
  focusPatterns: ['joins'],
  explorationObjectives: ['join two tables'],
  doNotRepeat: ['select *'],
};

describe('a rendered prompt contains its input unchanged', () => {
  test('the reflection prompt contains task, actions, observations, reward and signal', () => {
    const detail = { reward: 0, bestBefore: 1 };
    const input = {
      goal: 'Count them.',
      opening,
      turns,
      reward: 0.25,
      counterpart: null,
      signal: { kind: 'forgetting', detail },
      observationCharacters: 2000,
    } as const;
    const text = textOf(reflectionPrompt.render(input));
    const shown = ['Count them.', 'Write one query', 'how many {{opening}}?', 'select $& from {{goal}}', '[(1,)]'];
    for (const piece of [...shown, 'Reward: 0.25', 'bestBefore 1', 'Signal: forgetting']) expect(text).toContain(piece);
  });

  const shown = {
    observationCharacters: 2000,
    knownGoals: ['Count the {{ships}}.'],
    examples,
    length: { least: 2, target: 4 },
  };

  test('the abstraction prompt numbers each turn of each run', () => {
    const text = textOf(
      abstractionPrompt.render({ aim: noAim, opening, runs: [turns, [], [...turns, ...turns]], limit: 7, ...shown }),
    );
    const example = '<examples>\n{"query":"Name the {{ports}}.","actions":["select name from port"]}\n</examples>';
    for (const number of ['[1.1]', '[3.1]', '[3.2]', 'at most 7', '- Count the {{ships}}.', example])
      expect(text).toContain(number);
    expect(text).not.toContain('[2.1]');
  });

  test("the wording prompt has the work and solved tasks, and not the opening's own request", () => {
    const goal = 'how many {{opening}}?';
    const text = textOf(wordingPrompt.render({ opening, goal, steps: turns, observationCharacters: 2000, examples }));
    for (const piece of ['Write one query', 'select $& from {{goal}}', '[(1,)]', 'select name from port'])
      expect(text).toContain(piece);
    expect(text).not.toContain(goal);
    expect(
      textOf(wordingPrompt.render({ opening, goal: '', steps: [], observationCharacters: 2000, examples })),
    ).toContain(goal);
  });

  test.each(['forgetting', 'boundary', 'rare'] as const)(
    'the abstraction prompt for %s shows why the parent was flagged, what was found in it, and the length of a task',
    (kind) => {
      const flagged = { kind, goal: 'Count {{them}}.', detail: { before: 4, now: 0 }, reflection };
      const text = textOf(abstractionPrompt.render({ aim: flagged, opening, runs: [turns], limit: 7, ...shown }));
      expect(text).toMatch(new RegExp(`<aim>\\n${kind}: [^]*Measured: before 4, now 0\\n[^]*Count {{them}}\\.`));
      for (const finding of Object.values(reflection).flat()) expect(text).toContain(finding);
      expect(text).toContain('a task has at least 2 actions, better 4 or more, its answer not counted');
    },
  );

  test.each([
    [1, null, 'one action or more'],
    [1, 3, 'one action or more, better 3 or more'],
    [3, 3, 'at least 3 actions'],
  ])('a length of at least %j and better %j is %j', (least, target, text) => {
    expect(formatLength({ least, target })).toBe(text);
  });

  test.each(Object.entries(explorePrompts))(
    'the exploration prompt for %s contains opening, run and turns',
    (aim, prompt) => {
      const guided = aim === 'random' ? null : reflection;
      const earlierRuns = [
        { outcome: 'finished' as const, turns: [{ ...turns[0]!, action: 'select\nan earlier thing' }] },
      ];
      const position = { round: 1, rounds: 4, maxTurns: 18, earlierRuns };
      const messages = prompt.render({ reflection: guided, opening, turns, ...position, ...shown });
      expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
      expect(messages.slice(2).map(({ content }) => content)).toEqual([
        '<action>select $& from {{goal}}</action>',
        '[(1,)]',
      ]);
      const text = textOf(messages);
      for (const piece of [
        'how many {{opening}}?',
        'run 2 of 4',
        'You have 18 actions',
        '- Count the {{ships}}.',
        'least 2 actions',
      ])
        expect(text).toContain(piece);
      expect(text).toContain(
        'Run 1 ended after 1 actions (finished).\nIt sent "select an earlier thing" and saw "[(1,)]".',
      );
      for (const finding of ['no join', 'joins', 'join two tables', 'select *'])
        expect(text.includes(finding)).toBe(aim !== 'random');
    },
  );

  test('every placeholder is replaced, and no value is parsed as a template', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const template = [{ role: 'user', content: '<{{a}}|{{b}}>' }];
        expect(fillTemplate(template, { a, b })).toEqual([{ role: 'user', content: `<${a}|${b}>` }]);
      }),
    );
  });

  test('a placeholder without a value is an error', () => {
    expect(() => fillTemplate([{ role: 'user', content: '{{a}}' }], {})).toThrow(
      expect.objectContaining({ code: 'MissingPromptValue' }),
    );
  });
});

describe('long observations', () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => `row ${n}`).join('\n');
  const run = {
    opening,
    runs: [[{ action: 'select', observation: [{ role: 'user', content: numbers }] }]],
    limit: 3,
    aim: noAim,
    length,
  };

  test.each([200, 2000])('are cut to %i characters between start and end', (observationCharacters) => {
    const text = textOf(abstractionPrompt.render({ ...run, observationCharacters, knownGoals: [], examples: [] }));
    for (const piece of ['row 0\nrow 1\n', 'row 998\nrow 999']) expect(text).toContain(piece);
    expect(text).toContain(`[... ${numbers.length - observationCharacters} characters left out ...]`);
    expect(text).not.toContain('row 500');
  });

  test('are shown whole below the limit', () => {
    const text = textOf(
      abstractionPrompt.render({ ...run, observationCharacters: 20_000, knownGoals: [], examples: [] }),
    );
    expect(text).toContain(numbers);
  });
});

test('long observations are shortened to fit into the context, and actions are not', () => {
  const long = Array.from({ length: 72 }, (_, n) => ({
    action: `select ${n}`,
    observation: [{ role: 'user', content: 'x'.repeat(10_000) }],
  }));
  const runs = [0, 1, 2, 3].map((run) => long.slice(18 * run, 18 * (run + 1)));
  const text = textOf(
    abstractionPrompt.render({
      aim: noAim,
      length,
      opening,
      runs,
      limit: 3,
      observationCharacters: 2000,
      knownGoals: [],
      examples: [],
    }),
  );
  expect(text.length).toBeLessThan(60_000);
  for (const { action } of long) expect(text).toContain(action);
  expect(text).toContain('characters left out ...]');
});
