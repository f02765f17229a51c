import { createEnvironments } from '../../src/envs/environments';
import { caseSpec } from '../../src/prompt-eval/case-spec';
import { promptCases } from '../../src/prompt-eval/cases';
import { sqlCases } from '../../src/prompt-eval/cases/sql';
import { evaluatePrompts, type PromptEvaluation } from '../../src/prompt-eval/evaluate-prompts';
import type { CampaignSpec } from '../../src/specification/campaign-spec';
import type { EvalStage } from '../../src/prompt-eval/stage-yields';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';
import { caseSolver, failingQuery, type Change } from '../support/models/case-solver';
import type { KnownAnswers } from '../support/models/reference-judge';
import { startScriptedModel, type Rule, type ScriptedModel } from '../support/models/scripted-model';
import { scriptedProviders } from '../support/models/scripted-provider';
import { requestKind } from '../support/models/sql-explorer';

let server: EnvironmentServer;
let model: ScriptedModel;
let seeds: KnownAnswers;
beforeAll(async () => {
  server = await startEnvironmentServer();
  const { name, options, draw } = sqlCases;
  const drawn = await environments().environmentData.tasks(name, { split: 'train', ...draw, options });
  seeds = ({ goal }) =>
    drawn
      .filter((task) => task.goal === goal)
      .flatMap(({ reference_actions: actions }) => [actions, ['DESC employee', ...actions]]);
});
beforeEach(async () => {
  model = await startScriptedModel();
});
afterEach(() => model.stop());
afterAll(() => server.kill());

function environments() {
  const { data, open } = createEnvironments({ environment: server });
  return { environmentData: data, openEnvironment: open };
}

function evaluate(rule: Rule): Promise<PromptEvaluation> {
  model.answerBy(rule);
  return evaluatePrompts({ environments: environments(), providers: scriptedProviders(model.url), specOf, cases });
}

const asked = { provider: 'scripted', model: 'scripted-chat' };
const specOf = (): CampaignSpec => caseSpec(sqlCases, asked, []);
const cases = promptCases.filter(({ environment }) => environment === sqlCases.name);

const counts = ({ stages }: PromptEvaluation) =>
  Object.fromEntries(stages.map(({ stage, passed, of }) => [stage, `${passed}/${of}`]));

test('a good model has a yield of 100 % at every stage, and the cases have the results that they claim', async () => {
  const evaluation = await evaluate(caseSolver(seeds));
  expect(evaluation.reasons).toEqual([]);
  for (const { share } of evaluation.stages) expect(share).toBe(1);
  expect(counts(evaluation)).toMatchObject({ written: '12/12', unique: '12/12' });
  expect(evaluation.admitted).toMatchObject({ share: 1, high: 1 });
  expect(evaluation.admitted.low).toBeCloseTo(0.7575, 4); // Wilson, 12 of 12
  expect(evaluation.knownVerdicts).toMatchObject({ passed: 19, of: 19 });
  for (const { attempt, expected } of evaluation.cases.flatMap(({ verdicts }) => verdicts))
    expect([attempt, expected]).toEqual([attempt, attempt === 'reference' || attempt === 'right']);
  const calls = evaluation.purposes.reduce((sum, purpose) => sum + purpose.calls, 0);
  expect(calls).toBe(model.log.length);
});

test('a mute model has a yield of 0 %', async () => {
  const evaluation = await evaluate(() => '');
  expect(evaluation.admitted).toMatchObject({ passed: 0, of: 12, share: 0 });
  expect(counts(evaluation)).toMatchObject({ parsed: '0/25', written: '0/12', grounded: '0/0', unique: '0/0' });
  expect(evaluation.knownVerdicts).toMatchObject({ passed: 0, of: 19 });
});

const halfLost: Record<Exclude<EvalStage, 'parsed' | 'written'>, { reason: string; change: Change }> = {
  worded: {
    reason: 'states-actions',
    change: ([first, second]) => [first, { ...second!, query: `Run ${second!.actions.at(-1)}` }],
  },
  grounded: {
    reason: 'actions-not-seen',
    change: ([first, second]) => [first, { ...second!, actions: ['SELECT 1'] }],
  },
  executed: {
    reason: 'not-executable',
    change: ([first, second]) => [first, { ...second!, actions: [failingQuery] }],
  },
  validated: {
    reason: 'not-completed',
    change: ([first, second]) => [first, { ...second!, query: `${second!.query} Leave out the first row.` }],
  },
  unique: { reason: 'duplicate', change: ([first]) => [first, { ...first, confidence: 0.8 }] },
};

test.each(Object.entries(halfLost))(
  'a model whose every second candidate fails at "%s" loses it there and nowhere else',
  async (stage, { reason, change }) => {
    const evaluation = await evaluate(caseSolver(seeds, change));
    expect(evaluation.reasons).toEqual([{ stage, reason, count: 6 }]);
    for (const found of evaluation.stages) expect(found.share).toBe(found.stage === stage ? 0.5 : 1);
    expect(evaluation.admitted).toMatchObject({ passed: 6, of: 12 });
  },
);

test('a model that writes one candidate of two loses the other one at "written"', async () => {
  const evaluation = await evaluate(caseSolver(seeds, (candidates) => candidates.slice(0, 1)));
  expect(counts(evaluation)).toMatchObject({ written: '6/12', grounded: '6/6', unique: '6/6' });
});

test.each(['reflection', 'abstraction', 'exploration', 'other'] as const)(
  'a model that answers requests of the kind "%s" with nothing loses them at "parsed"',
  async (kind) => {
    const good = caseSolver(seeds);
    const evaluation = await evaluate((request) => (requestKind(request) === kind ? '' : good(request)));
    const role = { reflection: 'reflector', abstraction: 'abstractor', exploration: 'explorer', other: 'judge' }[kind];
    for (const { purpose, share } of evaluation.purposes)
      expect([purpose, share ?? 1]).toEqual([purpose, Number(purpose !== role)]);
    expect(evaluation.admitted.passed).toBe(0);
  },
);

test('a judge that approves everything is seen at the attempts with a known result', async () => {
  const good = caseSolver(seeds);
  const finding = { ok: true, note: 'fine' };
  const [apiMatching, parameters, logicalFlow, finalResult, skippedSteps] = Array.from({ length: 5 }, () => finding);
  const criteria = { apiMatching, parameters, logicalFlow, finalResult, skippedSteps };
  const approval = JSON.stringify({ criteria, completed: true, reason: 'looks right' });
  const evaluation = await evaluate((request) => (requestKind(request) === 'other' ? approval : good(request)));
  expect(evaluation.knownVerdicts).toMatchObject({ passed: 7, of: 19 });
  const passed = Object.fromEntries(evaluation.knownAttempts.map((each) => [each.attempt, each.passed]));
  expect(passed).toEqual({ reference: 6, right: 1, mistake: 0, partial: 0, limit: 0, extra: 0, 'other-request': 0 });
});

test('an answer that the environment does not read as an action is not counted as parsed', async () => {
  const good = caseSolver(seeds);
  const bare = 'The session is over. Thank you for your help.';
  const wordy: Rule = (request) => (requestKind(request) === 'exploration' ? bare : good(request));
  const parsed = (evaluation: PromptEvaluation) =>
    evaluation.purposes.find(({ purpose }) => purpose === 'explorer')!.passed;
  expect(parsed(await evaluate(wordy))).toBe(0);
  const plain = await evaluate((request) => (requestKind(request) === 'exploration' ? 'SELECT 1' : good(request)));
  expect(parsed(plain)).toBe(plain.purposes[1]!.of); // the parser accepts an action without its tags
});

test('an error that passes is retried, and one that does not ends the evaluation with its advice', async () => {
  const good = caseSolver(seeds);
  const failed = new Set<string>();
  const flaky: Rule = (request) => {
    if (!request.id!.includes('/reflect/') || failed.has(request.id!)) return good(request);
    failed.add(request.id!);
    return { status: 503 };
  };
  expect((await evaluate(flaky)).admitted.share).toBe(1);
  expect(failed.size).toBe(cases.length);
  await expect(evaluate(() => ({ status: 401, message: 'no such key' }))).rejects.toThrow('no such key');
});

test('changed options of the environment are refused with the case that they lack', async () => {
  const change = { path: ['environment', 'options', 'databases'], value: ['singer'] };
  const specOfChanged = (): CampaignSpec => caseSpec(sqlCases, asked, [change]);
  const providers = scriptedProviders(model.url);
  const evaluated = { environments: environments(), providers, specOf: specOfChanged, cases };
  await expect(evaluatePrompts(evaluated)).rejects.toThrow(
    /^the case forgetting-group cannot be played: found no train task "For every country.*expected one/,
  );
});
