import { callVerdict, isUseless } from '../../src/llm/call-verdict';
import { abstractionPrompt } from '../../src/llm/prompts/abstraction';
import { explorePrompts } from '../../src/llm/prompts/explore-prompts';
import { judgePrompt } from '../../src/llm/prompts/judge';
import { promptId } from '../../src/llm/prompts/prompt';

const judge = promptId(judgePrompt);
const explorer = promptId(explorePrompts.rare);
const parts = ['apiMatching', 'parameters', 'logicalFlow', 'finalResult', 'skippedSteps'];
const criteria = Object.fromEntries(parts.map((part) => [part, { ok: true, note: '' }]));
const approval = { completed: true, reason: 'done', criteria };
const text = (content: string) => ({ kind: 'text', text: content });

test.each([
  ['an answer of another shape', judge, text('ok'), 'malformed', 'found no JSON object, expected one'],
  ['its repair', `${judge}+repair@1`, text('ok'), 'malformed', 'found no JSON object, expected one'],
  ['a refusal', judge, { kind: 'refused', reason: 'no' }, 'refused', 'no'],
  ['a cut-off', judge, { kind: 'cut-off', at: 'limit', text: '{"a' }, 'cut-off', 'before it was complete'],
  ['an empty abstraction', promptId(abstractionPrompt), text('{}'), 'malformed', 'candidates'],
  ['thinking without an action', explorer, text('<think>well'), 'no-action', 'found no action'],
])('%s is useless', (_, prompt, answer, ...expected: string[]) => {
  const found = callVerdict({ prompt, answer });
  const [verdict, problem] = expected;
  expect(found).toEqual({ verdict, problem: expect.stringContaining(problem!) });
  expect(isUseless(found)).toBe(true);
});

test.each([
  ['JSON after prose', judge, text(`So:\n\`\`\`json\n${JSON.stringify(approval)}\n\`\`\``), 'usable'],
  ['an action', explorer, text('<action>select 1</action>'), 'usable'],
  ['an embedding', 'none', null, 'unchecked'],
  ['a prompt of another release', 'judge@999', text('ok'), 'unchecked'],
])('%s is not useless', (_, prompt, answer, verdict) => {
  const found = callVerdict({ prompt, answer });
  expect(found.verdict).toBe(verdict);
  expect(isUseless(found)).toBe(false);
});
