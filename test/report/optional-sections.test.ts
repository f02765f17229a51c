import { renderReport } from '../../src/report/campaign/campaign-report';
import type { CampaignReport } from '../../src/report/campaign/campaign-report';
import { campaignRows } from './campaign-rows';
import { expectedReport } from './expected-report';
import { tableOf, textOf } from './read-page';

const plain = expectedReport(campaignRows());
const page = (changes: Partial<CampaignReport>): string => renderReport({ ...plain, ...changes });

test('a campaign without updates and language models has no sections for them', () => {
  const sections = textOf(renderReport(plain).match(/<nav[^]*?<\/nav>/)![0]);
  expect(sections).not.toContain('Updates');
  expect(sections).not.toContain('Language models');
  expect(sections).not.toContain('Judge');
});

test('the updates section shows each step with its stability metrics', () => {
  const step = (iteration: number, n: number, meanReward: number) => ({
    iteration,
    step: n,
    attempts: 128,
    meanReward,
    mixed: 0.5,
    policyId: 'a'.repeat(64),
    metrics: {
      kl: 0.002,
      kl_old: 0.001,
      ratio: 1.0001,
      ratio_max: 1.2,
      clipped_low: 0,
      clipped_high: 0.01,
      logp_gap: 0.00001,
      grad_norm: 0.4,
    },
  });
  const shown = page({ steps: [step(1, 1, 0.25), step(1, 2, 0.5)] });
  expect(textOf(shown)).toContain('2 steps from 256 attempts');
  expect(tableOf(shown, 'Updates by iteration and step')).toEqual([
    ['1', '1', 'aaaaaaaaaaaa', '128', '0.250', '0.500', '0.002', '0.001', '1', '1.2', '0', '0.01', '0.00001', '0.4'],
    ['1', '2', 'aaaaaaaaaaaa', '128', '0.500', '0.500', '0.002', '0.001', '1', '1.2', '0', '0.01', '0.00001', '0.4'],
  ]);
});

test('the language model section shows calls, cost, limits and waste', () => {
  const shown = page({
    modelSpending: [
      {
        iteration: 1,
        purpose: 'explorer',
        provider: 'open',
        model: 'big',
        calls: 40,
        tokens: 60_000,
        usd: 1.25,
        seconds: 80,
        estimated: 0,
      },
    ],
    waste: { confirmed: { calls: 2, tokens: 3000, usd: 0.1 }, unconfirmed: { calls: 1, tokens: 900, usd: 0 } },
    budget: { tokensLimit: 100_000, usdLimit: null, tokens: 63_900, usd: 1.35 },
    contexts: [{ iteration: 1, aim: 'boundary', status: 'failed', failure: 'malformed', contexts: 3 }],
    explorationRuns: [{ iteration: 1, aim: 'boundary', outcome: 'turn-limit', runs: 8, turns: 40 }],
  });
  expect(textOf(shown)).toContain(
    '40 answers for 60,000 tokens and $1.25, with a limit of 100,000 tokens and no limit',
  );
  expect(textOf(shown)).toContain(
    'Paid twice: 2 calls, 3,000 tokens; possibly paid, because no answer arrived: 1 call.',
  );
  expect(tableOf(shown, 'Model calls by iteration and purpose')[0]).toContain('open/big');
  expect(tableOf(shown, 'Exploration contexts: flagged trajectories and their reflection')).toEqual([
    ['1', 'boundary', 'failed', 'malformed', '3'],
  ]);
  expect(tableOf(shown, 'Exploration runs by outcome')).toEqual([['1', 'boundary', 'turn-limit', '8', '40']]);
});

test('the pool section shows the stages of admission in order and an alarm for a collapsed pool', () => {
  const round = {
    encoder: 'hashed-ngrams@1',
    tasks: 30,
    neighbours: 5,
    similarity: 0.97,
    energyDistance: 0.02,
    relativeDistance: 0.01,
  };
  const shown = page({
    stages: [
      { iteration: 1, stage: 'executed', passed: true, tasks: 90 },
      { iteration: 1, stage: 'executed', passed: false, tasks: 10 },
      { iteration: 1, stage: 'unique', passed: true, tasks: 30 },
      { iteration: 1, stage: 'unique', passed: false, tasks: 60 },
    ],
    limitCuts: [
      { iteration: 1, aim: 'boundary', contextId: null, relation: 'easier', admitted: 7, cut: 23 },
      { iteration: 1, aim: 'rare', contextId: '1/rare/3', relation: null, admitted: 2, cut: 4 },
    ],
    matches: [
      { iteration: 1, matched: 'signals', wanted: 45, admitted: 45, refills: 1 },
      { iteration: 2, matched: 'signals', wanted: 45, admitted: 38, refills: 3 },
    ],
    diversity: [{ iteration: 1, ...round, collapsed: true }],
  });
  expect(tableOf(shown, 'Match with signals: tasks admitted and wanted')).toEqual([
    ['1', 'met', '45', '45', '1'],
    ['2', 'failed', '38', '45', '3'],
  ]);
  expect(tableOf(shown, 'Stages of admission')).toEqual([
    ['1', 'executed', '90', '10', '0.900'],
    ['1', 'unique', '30', '60', '0.333'],
  ]);
  expect(tableOf(shown, 'Candidates that passed every check and were cut by a quota or the growth cap')).toEqual([
    ['1', 'boundary', 'easier', '7', '23'],
    ['1', 'rare', '1/rare/3', '2', '4'],
  ]);
  expect(tableOf(shown, 'Diversity and relevance of admitted tasks')).toEqual([
    ['1', 'hashed-ngrams@1', '30', '0.970', '0.010', 'collapse'],
  ]);
});

test('the judge section shows agreement, precision and recall with intervals, and the drift', () => {
  const calibration = {
    judgeVersion: 'judge@1 open/big',
    truePositives: 18,
    falsePositives: 4,
    trueNegatives: 15,
    falseNegatives: 2,
    unusable: 1,
    dropped: 0,
    agreement: 0.846,
    agreementLow: 0.703,
    agreementHigh: 0.928,
    precision: 0.818,
    precisionLow: 0.615,
    precisionHigh: 0.927,
    recall: 0.9,
    recallLow: 0.699,
    recallHigh: 0.972,
  };
  const shown = page({
    calibrations: [
      { iteration: 0, ...calibration, drift: null, distrust: null },
      { iteration: 1, ...calibration, drift: 'another judge', distrust: 'the judge approves everything' },
    ],
    agreements: [
      { iteration: 1, grader: 'environment', both: 40, judgeOnly: 3, environmentOnly: 5, neither: 2, unusable: 0 },
    ],
  });
  expect(tableOf(shown, 'Calibrations')[1]).toEqual([
    '1',
    'judge@1 open/big',
    'another judge',
    'the judge approves everything',
    '18',
    '4',
    '15',
    '2',
    '1',
    '0',
    '0.846',
    '0.703 to 0.928',
    '0.818',
    '0.615 to 0.927',
    '0.900',
    '0.699 to 0.972',
  ]);
  expect(tableOf(shown, 'Judge and environment on the same candidates')).toEqual([
    ['1', 'environment', '40', '3', '5', '2', '0'],
  ]);
});
