import { admit } from '../../../../src/domain/tasks/admission/admit';
import type { AdmissionRules, Candidate } from '../../../../src/domain/tasks/admission/candidate';
import { judgePrompt } from '../../../../src/llm/prompts/judge';
import { synthesisSettingsSchema } from '../../../../src/specification/synthesis-settings';
import { judgeByAnswers } from '../../../support/models/reference-judge';
import type { ModelRequest } from '../../../support/models/scripted-model';
import { candidate, rules } from './candidates';

type Draft = { goal: string; action: string; isWrong: boolean };

const goalOf = (n: number): string => `Count the visitors that came to museum ${n} in the year ${1500 + n}.`;
const actionOf = (n: number): string => `select count(*) from visits where museum = ${n} and year = ${1500 + n}`;

/** 1,000 queries; every fifth has actions that do not answer it: other tasks', nothing useful, or a changed argument. */
const drafts = Array.from({ length: 1000 }, (_, n): Draft => {
  const wrong = [actionOf(n + 1), '[ls()]', actionOf(n).replace(`${1500 + n}`, `${1501 + n}`)][n % 3]!;
  return { goal: goalOf(n), action: n % 5 === 0 ? wrong : actionOf(n), isWrong: n % 5 === 0 };
});

const known = new Map(drafts.map(({ goal }, n) => [goal, [[actionOf(n)]]]));
const judge = judgeByAnswers(({ goal }) => known.get(goal) ?? []);

/** Returns the candidate of a language model whose replay scores 1, with the answer of a correct judge to its run. */
async function toCandidate({ goal, action }: Draft, n: number): Promise<Candidate> {
  const turns = [{ action, observation: [{ role: 'user', content: '[(1,)]' }] }];
  const run = { opening: [{ role: 'user', content: 'Database: museums' }], turns, stopReason: 'completed' };
  const shown = { criterion: 'the number is returned', observationCharacters: 2000 };
  const messages = judgePrompt.render({ goal, ...shown, ...run });
  const answer = (await judge({ messages } as ModelRequest)) as string;
  const { completed, reason } = judgePrompt.schema.parse(JSON.parse(answer));
  const execution = { played: true, reward: 1 };
  return candidate(`n${n}`, { goal, actions: [action], author: 'model', execution, judgement: { completed, reason } });
}

let candidates: Candidate[];
beforeAll(async () => {
  candidates = await Promise.all(drafts.map(toCandidate));
});

/** Returns the ids of the admitted candidates. */
const admittedBy = (changes: Partial<AdmissionRules>): Set<string> =>
  new Set(admit(candidates, [], [], rules(changes)).flatMap(({ id, outcome }) => (outcome === 'admitted' ? id : [])));

const isWrong = (id: string): boolean => drafts[Number(id.slice(1))]!.isWrong;

test('of 1,000 candidates the default rule rejects exactly the 200 that do not answer their query', () => {
  const { rule, validation } = synthesisSettingsSchema.parse({});
  const admitted = admittedBy({ rule, validation });
  expect(admitted.size).toBe(800);
  expect([...admitted].filter(isWrong)).toEqual([]);
});

test.each<Partial<AdmissionRules>>([{ validation: 'off' }, { rule: 'strict' }, { rule: 'paper' }])(
  'with %p these 200 are admitted like the others',
  (changes) => {
    const admitted = admittedBy(changes);
    expect([...admitted].filter(isWrong)).toHaveLength(200);
    expect(admitted.size).toBe(1000);
  },
);
