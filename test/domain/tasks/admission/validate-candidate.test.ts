import { executed, judged, valid } from '../../../../src/domain/tasks/admission/validate-candidate';
import { synthesisSettingsSchema } from '../../../../src/specification/synthesis-settings';
import { candidate, rules } from './candidates';

const verdictOf = (completed: boolean | null) => ({ completed, reason: 'judge reason' });
const ran = (reward: number | null) => ({ played: true, reward });

test.each([
  { reward: 1, judge: false, rule: 'strict', passed: true, reason: 'completed' },
  { reward: 1, judge: null, rule: 'paper', passed: true, reason: 'completed' },
  { reward: 0.4, judge: true, rule: 'paper', passed: true, reason: 'rewarded' },
  { reward: 0.4, judge: true, rule: 'strict', passed: false, reason: 'reference-fails' },
  { reward: 0, judge: true, rule: 'paper', passed: false, reason: 'reference-fails' },
  { reward: null, judge: true, rule: 'strict', passed: true, reason: 'completed' },
  { reward: null, judge: false, rule: 'paper', passed: false, reason: 'not-completed' },
  { reward: null, judge: null, rule: 'paper', passed: false, reason: 'not-judged' },
  { reward: 1, judge: true, rule: 'agreed', passed: true, reason: 'completed' },
  { reward: 1, judge: false, rule: 'agreed', passed: false, reason: 'not-completed' },
  { reward: 1, judge: null, rule: 'agreed', passed: false, reason: 'not-judged' },
  { reward: 0.4, judge: true, rule: 'agreed', passed: false, reason: 'reference-fails' },
] as const)(
  'at reward $reward and judge verdict $judge, the rule $rule gives $reason',
  ({ reward, judge, rule, passed, reason }) => {
    const candidateRun = candidate('a', { execution: ran(reward), judgement: verdictOf(judge) });
    expect(judged(candidateRun, rules({ rule }))).toMatchObject({ passed, reason });
  },
);

test.each([
  { author: 'model', reward: 1, judge: false, passed: false, reason: 'not-completed' },
  { author: 'model', reward: 1, judge: null, passed: false, reason: 'not-judged' },
  { author: 'model', reward: 1, judge: true, passed: true, reason: 'completed' },
  { author: 'model', reward: 0.4, judge: true, passed: false, reason: 'reference-fails' },
  { author: 'model', reward: null, judge: true, passed: true, reason: 'completed' },
  { author: 'model', reward: null, judge: false, passed: false, reason: 'not-completed' },
  { author: 'generator', reward: 1, judge: false, passed: true, reason: 'completed' },
  { author: 'generator', reward: 0.4, judge: null, passed: true, reason: 'rewarded' },
  { author: 'generator', reward: 0, judge: true, passed: false, reason: 'reference-fails' },
  { author: 'generator', reward: null, judge: false, passed: false, reason: 'not-completed' },
] as const)(
  'the rule by-author gives $reason at reward $reward and judge verdict $judge for a query of the $author',
  ({ author, reward, judge, passed, reason }) => {
    const candidateRun = candidate('a', { author, execution: ran(reward), judgement: verdictOf(judge) });
    expect(judged(candidateRun, rules({ rule: 'by-author' }))).toMatchObject({ passed, reason });
  },
);

test.each([
  { author: 'model', rule: 'solvable', reward: 1, solved: 0, passed: false, reason: 'not-solved' },
  { author: 'model', rule: 'solvable', reward: 1, solved: 1, passed: true, reason: 'solved' },
  { author: 'model', rule: 'solvable', reward: 1, solved: 3, passed: true, reason: 'trivial' },
  { author: 'model', rule: 'solvable', reward: 1, solved: null, passed: false, reason: 'not-attempted' },
  { author: 'model', rule: 'solvable', reward: 0.4, solved: 3, passed: false, reason: 'reference-fails' },
  { author: 'generator', rule: 'solvable', reward: 1, solved: null, passed: true, reason: 'completed' },
  { author: 'model', rule: 'by-author', reward: 1, solved: 0, passed: false, reason: 'not-solved' },
  { author: 'model', rule: 'by-author', reward: 1, solved: 2, passed: true, reason: 'solved' },
  { author: 'model', rule: 'strict', reward: 1, solved: 0, passed: true, reason: 'completed' },
] as const)(
  'with $solved of 3 attempts, the rule $rule gives $reason at reward $reward for a query of the $author',
  ({ author, rule, reward, solved, passed, reason }) => {
    const attempts = solved === null ? null : { solved, scored: 3 };
    const run = candidate('a', { author, execution: ran(reward), judgement: verdictOf(true), attempts });
    expect(judged(run, rules({ rule }))).toMatchObject({ passed, reason });
  },
);

test('attempts that no environment has scored are no vote', () => {
  const run = candidate('a', { author: 'model', attempts: { solved: 0, scored: 0 } });
  expect(judged(run, rules({ rule: 'solvable' }))).toMatchObject({ passed: false, reason: 'not-attempted' });
});

test('by default a flight that is booked by listing a folder is rejected', () => {
  const { rule } = synthesisSettingsSchema.parse({});
  const made = { author: 'model', goal: 'Book a flight to Paris', actions: ['[ls()]'] } as const;
  const flight = candidate('a', { ...made, execution: ran(1), judgement: verdictOf(false) });
  expect(judged(flight, rules({ rule }))).toMatchObject({ passed: false, reason: 'not-completed' });
});

test('a candidate without reward and judgement is not admitted', () => {
  expect(judged(candidate('a', { execution: ran(null) }), rules())).toMatchObject({
    passed: false,
    reason: 'not-judged',
  });
});

test('without validation the stages pass with the reason that validation is off', () => {
  const off = rules({ validation: 'off' });
  const unplayed = candidate('a', { execution: { played: false, reward: null } });
  for (const stage of [executed, judged])
    expect(stage(unplayed, off)).toEqual({ passed: true, reason: 'validation is off', detail: {} });
});

test('a candidate that was not played is not executable', () => {
  const unplayed = candidate('a', { execution: { played: false, reward: null } });
  expect(executed(unplayed, rules())).toMatchObject({ passed: false, reason: 'not-executable' });
});

test.each([
  { problem: 'no query', changes: { goal: ' \n' }, reason: 'no-query' },
  { problem: 'no actions', changes: { actions: [] }, reason: 'no-action' },
  { problem: 'an empty action', changes: { actions: ['select 1', ' '] }, reason: 'no-action' },
  {
    problem: 'more actions than an attempt may have',
    changes: { actions: Array(7).fill('a') },
    reason: 'too-many-actions',
  },
  { problem: 'a refusal of the environment', changes: { refusal: 'empty-result' }, reason: 'empty-result' },
])('a candidate with $problem is not valid', ({ changes, reason }) => {
  expect(valid(candidate('a', changes), rules())).toMatchObject({ passed: false, reason });
});

test('the max number of actions of an attempt is valid', () => {
  expect(valid(candidate('a', { actions: Array(6).fill('a') }), rules())).toMatchObject({ passed: true });
});

test('a candidate that was not executable at synthesis fails with and without validation', () => {
  for (const validation of ['on', 'off'] as const) {
    const refused = candidate('a', { refusal: 'not-executable' });
    expect(executed(refused, rules({ validation }))).toMatchObject({ passed: false, reason: 'not-executable' });
  }
});

test.each([
  { author: 'model', solved: 1, passed: true, reason: 'solved' },
  { author: 'model', solved: 0, passed: false, reason: 'not-solved' },
  { author: 'model', solved: null, passed: false, reason: 'not-attempted' },
  { author: 'generator', solved: null, passed: true, reason: 'completed' },
] as const)('with an untrusted judge, $solved of 2 solved attempts at a query of a $author give $reason', (each) => {
  const { author, solved, ...expected } = each;
  const attempts = solved === null ? null : { solved, scored: 2 };
  const judgement = { completed: true, reason: 'yes', isTrusted: false };
  const run = candidate('c', { author, execution: { played: true, reward: 1 }, judgement, attempts });
  expect(judged(run, rules({ rule: 'by-author' }))).toMatchObject(expected);
});

test('an untrusted judge admits no candidate without a checker, and no rule that needs it', () => {
  const judgement = { completed: true, reason: 'yes', isTrusted: false };
  const untrusted = { passed: false, reason: 'untrusted-judge' };
  const unscored = candidate('c', { execution: { played: true, reward: null }, judgement });
  for (const rule of ['by-author', 'agreed', 'solvable', 'strict', 'paper'] as const)
    expect(judged(unscored, rules({ rule }))).toMatchObject(untrusted);
  const scored = candidate('c', { execution: { played: true, reward: 1 }, judgement });
  expect(judged(scored, rules({ rule: 'agreed' }))).toMatchObject(untrusted);
});
