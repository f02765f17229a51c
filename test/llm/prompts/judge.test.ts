import { campaignSpecSchema } from '../../../src/specification/campaign-spec';
import { judgeAttemptPrompt, judgePrompt, judgeVersion } from '../../../src/llm/prompts/judge';
import { isCompleted, judgeAnswer, judgeQuestion } from '../../support/models/reference-judge';

const turns = [
  { action: 'select name\nfrom singer', observation: [{ role: 'user', content: "[('Joe',)]" }] },
  { action: 'submit', observation: [] },
];
const input = {
  goal: 'Who sings? {{criterion}}',
  criterion: 'all names are listed',
  opening: [{ role: 'user', content: 'Database: singer' }],
  turns,
  stopReason: 'completed',
  observationCharacters: 2000,
};

const referenceActions = ['select name from singer', 'submit'];

test.each([judgePrompt, judgeAttemptPrompt])(
  'the prompt $name contains the five criteria of the paper and its rules for completion and timeouts',
  ({ template }) => {
    const system = template[0]!.content;
    for (const criterion of ['apiMatching', 'parameters', 'logicalFlow', 'finalResult', 'skippedSteps'])
      for (const text of [`- ${criterion}: `, `"${criterion}": {"ok": `]) expect(system).toContain(text);
    expect(system).toMatch(
      /Never completed when a needed operation was not called, or was called with wrong parameters/,
    );
    expect(system).toMatch(/connection timed out is no fault/);
  },
);

test('the question about a candidate claims of no action that it is right, whatever the task names', () => {
  const messages = judgePrompt.render({ ...input, referenceActions } as typeof input);
  const text = messages.map(({ content }) => content).join('\n');
  expect(text).not.toMatch(/reference|solved|known|gold|correct/i);
  expect(text.match(/select name/g)).toHaveLength(1);
});

test('the question about a candidate is the same however its session ended', () => {
  const ended = ['completed', 'actions-ended', 'turn-limit'].map((stopReason) => ({ ...input, stopReason }));
  const rendered = ended.map((given) => judgePrompt.render(given));
  expect(new Set(rendered.map((messages) => JSON.stringify(messages))).size).toBe(1);
});

test('a rendered prompt contains request, criterion, reference, attempt and stop reason unchanged', () => {
  const messages = judgeAttemptPrompt.render({ ...input, referenceActions });
  const text = messages.map(({ content }) => content).join('\n');
  for (const piece of [input.goal, input.criterion, 'Database: singer', "[('Joe',)]"]) expect(text).toContain(piece);
  expect(judgeQuestion({ messages })).toEqual({
    goal: input.goal,
    solvedOnce: referenceActions,
    played: referenceActions,
    end: 'completed',
  });
  const candidate = judgeQuestion({ messages: judgePrompt.render(input) })!;
  expect(candidate).toEqual({ ...judgeQuestion({ messages }), solvedOnce: [], end: null });
  expect(isCompleted(candidate, [['submit'], referenceActions])).toBe(true);
});

test.each([
  { name: 'another action', changes: { turns: [{ ...turns[0]!, action: 'select 1' }, turns[1]!] } },
  { name: 'a missing action', changes: { turns: turns.slice(1) } },
  { name: 'no action', changes: { turns: [] } },
  { name: 'no end', changes: { stopReason: 'turn-limit' } },
])('the scripted judge detects $name', ({ changes }) => {
  const messages = judgeAttemptPrompt.render({ ...input, referenceActions, ...changes });
  expect(isCompleted(judgeQuestion({ messages })!, [referenceActions])).toBe(false);
});

const answer = (completed: boolean) => JSON.parse(judgeAnswer(completed, 'seen')) as Record<string, unknown>;
const criteriaOf = (completed: boolean) =>
  answer(completed)['criteria'] as Record<string, { ok: boolean; note: string }>;

test.each([true, false])('an answer with completed %s matches the schema', (completed) => {
  expect(judgePrompt.schema.parse(answer(completed))).toEqual(answer(completed));
});

test.each([
  { name: 'without a reason', given: { ...answer(true), reason: ' ' } },
  {
    name: 'with a criterion left out',
    given: { ...answer(true), criteria: { ...criteriaOf(true), parameters: undefined } },
  },
  { name: 'in words', given: { ...answer(true), completed: 'yes' } },
  ...['apiMatching', 'parameters'].map((criterion) => ({
    name: `completed although ${criterion} is not ok`,
    given: { ...answer(true), criteria: { ...criteriaOf(true), [criterion]: { ok: false, note: 'no' } } },
  })),
])('an answer $name does not match the schema', ({ given }) => {
  expect(judgePrompt.schema.safeParse(given).success).toBe(false);
});

test('an answer may reject the result although calls and parameters are right', () => {
  const given = { ...answer(false), criteria: { ...criteriaOf(true), finalResult: { ok: false, note: 'empty' } } };
  expect(judgePrompt.schema.safeParse(given).success).toBe(true);
});

test('a judge version consists of prompt, provider, model and temperature', () => {
  const models = {
    explorer: { provider: 'local', model: 'small', price: { inputPerMillion: 0, outputPerMillion: 0 } },
    judge: { provider: 'far', model: 'large', price: { inputPerMillion: 1, outputPerMillion: 2 }, temperature: 0.2 },
  };
  const spec = campaignSpecSchema.parse({
    name: 'c',
    seed: 1,
    recipe: 'combined',
    environment: { name: 'intercode-sql' },
    llm: { models },
  });
  expect(judgeVersion(spec)).toBe('judge@3 far/large at 0.2');
  expect(judgeVersion(spec, judgeAttemptPrompt)).toBe('judge-attempt@1 far/large at 0.2');
  expect(() => judgeVersion({ ...spec, llm: null })).toThrow(expect.objectContaining({ code: 'NoJudge' }));
});
