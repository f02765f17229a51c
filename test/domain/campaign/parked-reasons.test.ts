import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { promotionNeedsApproval, tasksNeedApproval } from '../../../src/domain/campaign/approval';
import {
  causeHint,
  nextCommands,
  ordersAfter,
  resumeAfter,
  selfEnding,
} from '../../../src/domain/campaign/parked-hints';
import { isParkedCode, parkedCode, parkedReasons, type ParkedCode } from '../../../src/domain/campaign/parked-reasons';

const root = path.resolve(__dirname, '../../..');
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('docs/parked.md has a row of every code, with its cause and its next step', () => {
  const rows = [...textOf('docs/parked.md').matchAll(/^\| `([\w.-]+)` +\| (.+?) +\| (.+?) +\| (\w+) +\|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, cause, next]) => [code, { cause, next }]))).toEqual(parkedReasons);
  expect(rows.map(([, code, , , resume]) => [code, resume])).toEqual(
    rows.map(([, code]) => [code, resumeAfter(code as ParkedCode)]),
  );
});

test('no code outside the reader of release 0.1.0 searches the sentence of a reason', () => {
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts')).map((file) => path.join('src', file));
  const search = /parked\??\.(includes|match|search|startsWith|endsWith|indexOf)\(|\.test\([\w.]*parked\)/;
  expect(sources.filter((file) => search.test(textOf(file)))).toEqual([]);
  const marker = /includes\('wait for approval'\)|includes\('coevolve reconcile'\)/;
  expect(sources.filter((file) => marker.test(textOf(file)))).toEqual(['src/domain/campaign/parked-reasons.ts']);
});

test.each([
  [tasksNeedApproval('demo', 2, 7), 'ApprovalNeeded'],
  [promotionNeedsApproval('demo', 2, 'gain 0.02'), 'ApprovalNeeded'],
  ['the database is older than the campaign: ...; `coevolve reconcile demo`', 'StateMismatch'],
  ['provider "scripted" does not answer', 'Unexpected'],
])('the reason %j that release 0.1.0 stored without a code is read as %s', (parked, code) => {
  expect(parkedCode({ parked })).toBe(code);
  expect(parkedCode({ parked, parkedCode: 'BudgetReached' })).toBe('BudgetReached');
});

test('a phase that is not parked has no code', () => {
  expect(parkedCode({ parked: null, parkedCode: 'BudgetReached' })).toBeNull();
});

const parkedBy = (code: ParkedCode) => ({
  name: 'demo',
  progress: { iteration: 1, phase: 'train', note: null, parked: 'x', parkedCode: code, score: null } as const,
});

test.each(Object.keys(parkedReasons) as ParkedCode[])(
  'the hints of %s name the campaign, and a resume only where it helps',
  (code) => {
    const [step, commands] = [causeHint(parkedBy(code))!, nextCommands(parkedBy(code))];
    expect(`${step}${commands}`).not.toMatch(/<campaign>|<last>/);
    const promise = /`coevolve resume demo` retries/.test(commands);
    expect(promise).toBe(resumeAfter(code) !== 'no');
    const orders = ordersAfter(parkedBy(code));
    expect([orders.includes('resume'), orders.includes('fork')]).toEqual([promise, /`coevolve fork/.test(step)]);
    expect(orders.at(-1)).toBe('stop');
    if (/^(another campaign|a fork|start another|`coevolve reconcile)/.test(step)) expect(promise).toBe(false);
  },
);

test('the hint for an approval is that for the tasks or the policy that waits', () => {
  const hintIn = (phase: 'validate' | 'evaluate'): string | null =>
    causeHint({ name: 'demo', progress: { ...parkedBy('ApprovalNeeded').progress, phase } });
  expect(hintIn('validate')).toMatch(/^`coevolve tasks demo --verdict candidate`/);
  expect(hintIn('evaluate')).toMatch(/`coevolve approve demo --keep` keeps the active one$/);
});

test('a diverged job, bad input and a full disk name what has to change before a resume', () => {
  const hint = (code: ParkedCode): string => `${causeHint(parkedBy(code))}. ${nextCommands(parkedBy(code))}`;
  expect(hint('TrainingFailed.diverged')).toMatch(
    /^a fork, .*`coevolve fork demo --from-iteration 0 --set training.<method>.learningRate=<rate>`.*`coevolve resume demo` alone parks again/,
  );
  expect(hint('TrainingFailed.bad-input')).toMatch(
    /^another campaign without.*`coevolve reconcile demo`.* alone parks again/,
  );
  expect(hint('TrainingFailed.disk-full')).toMatch(/^free disk space.* Then `coevolve resume demo` retries the phase/);
});

test('only a phase that waits for a server continues by itself', () => {
  expect(selfEnding({ awaits: 'http://server' })).toBe('It continues by itself when http://server answers.');
  expect([selfEnding({}), selfEnding({ awaits: null })]).toEqual([null, null]);
});

/** Rules that only a fault of the program breaks, or that are checked before a campaign starts: they park as `Unexpected`. */
const internal = [
  'ActivePolicyChanged',
  'AmbiguousAction',
  'CampaignExists',
  'ConflictingStep',
  'ConflictingTrajectory',
  'DimensionMismatch',
  'EmptySample',
  'InvalidAnalysis',
  'InvalidConfidence',
  'InvalidHistogram',
  'InvalidName',
  'InvalidRange',
  'InvalidReward',
  'InvalidSampleSize',
  'InvalidSeed',
  'InvalidSetting',
  'InvalidSpec',
  'InvalidStep',
  'MissingPromptValue',
  'MissingTaskType',
  'ModelExists',
  'NoFunctionFormat',
  'NoJudge',
  'NoLimit',
  'NoModel',
  'NoPolicy',
  'NotMatched',
  'NotReflected',
  'RunTooEarly',
  'UnknownArm',
  'UnknownCampaign',
  'UnknownContext',
  'UnknownExperiment',
  'UnknownSignal',
  'UnknownTrainingRun',
  'UnknownTrainingStep',
  'UnknownTrajectory',
  'UnpairedEvaluation',
  'ValueOutOfRange',
];

test('every DomainError that an activity can throw has a code, or is a rule that operators cannot break', () => {
  const codes = activityFiles().flatMap((file) =>
    [...textOf(file).matchAll(/new DomainError\(\s*'(\w+)'/g)].map(([, code]) => code!),
  );
  const unlisted = [...new Set(codes)].filter((code) => !isParkedCode(code)).toSorted();
  expect(unlisted).toEqual(internal);
});

/** Returns the files that the activities import by value, at any distance. */
function activityFiles(): string[] {
  const found = new Set(['src/activities/index.ts', 'src/workers/create-dependencies.ts']);
  for (const file of found)
    for (const [, name] of textOf(file).matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';/gm)) {
      if (name!.endsWith('.json')) continue;
      const target = path.join(path.dirname(file), name!);
      found.add(isFile(`${target}.ts`) ? `${target}.ts` : path.join(target, 'index.ts'));
    }
  return [...found];
}

const isFile = (file: string): boolean => statSync(path.join(root, file), { throwIfNoEntry: false })?.isFile() ?? false;
