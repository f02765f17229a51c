import type { Command } from 'commander';
import { UsageError } from '../../errors/errors';
import {
  compareCampaigns,
  type CampaignPair,
  type ComparedBaseline,
  type Comparison,
  type MatchedPair,
} from '../../client/compare-campaigns';
import { withConnections } from '../../client/connections';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { minSharedTasks } from '../../domain/evaluation/compare-rewards';
import { counted, interval, pValue, rate, shortHash, signed } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { differencesTable } from './differences-table';
import { listOf } from '../arguments/list-of';
import { marginOf, metricOf, printSides, requireAlone, type SideOptions } from './compare-sides';
import { type Column, number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Options = { set?: string; baseline?: string; allPairs?: boolean; json?: boolean } & SideOptions;

/** `coevolve compare <campaign...>` */
export function addCompare(program: Command): void {
  program
    .command('compare [campaigns...]')
    .description('compare campaigns: specs, effort, reward and success on the same tasks')
    .option('--set <name>', 'evaluation set of the scores (default: test, or dev)')
    .option('--baseline <campaign>', 'count failures on the tasks that it failed (default: the start of the first)')
    .option('--all-pairs', 'compare every pair, not only the first with each')
    .option('--a <campaigns>', 'comma-separated: one method with several seeds, against --b', listOf)
    .option('--b <campaigns>', 'the other method with the same seeds; tests b minus a over the seeds', listOf)
    .option('--margin <share>', 'with --a and --b: difference that matters, in (0, 1) (default: 0.05)', marginOf)
    .option('--metric <name>', 'with --a and --b: success, reward, pass@<k> (default: success)', metricOf)
    .option('--json', 'print the comparison as JSON')
    .action((names: string[], { set, baseline, allPairs, json, ...sides }: Options) => {
      if (Object.keys(sides).length > 0) {
        requireAlone({
          campaigns: names.join(' ') || undefined,
          '--set': set,
          '--baseline': baseline,
          '--all-pairs': allPairs,
        });
        return printSides(sides, json);
      }
      if (new Set(names).size < 2)
        throw new UsageError(
          `compare: found ${names.join(' ') || 'nothing'}, expected at least two campaigns; see \`coevolve list\``,
        );
      return withConnections(async (connections) => {
        const options = {
          ...(set === undefined ? {} : { evaluationSet: set }),
          ...(baseline === undefined ? {} : { baseline }),
          allPairs: allPairs ?? false,
        };
        const comparison = await compareCampaigns(connections, [...new Set(names)], options);
        for (const pair of comparison.pairs) {
          if (pair.leftOut > 0) printMessage(`warning: ${trainedText(pair, comparison.evaluationSet)}`);
          if (!pair.tests) printMessage(`warning: ${fewShared(pair, comparison.evaluationSet)}`);
        }
        for (const problem of failedMatches(comparison)) printMessage(`warning: ${problem}`);
        printResult(json, comparison, () => comparisonText(comparison));
      });
    });
}

const fewShared = ({ campaigns, tasks, played }: CampaignPair, set: string): string =>
  `${campaigns.join(' and ')} share ${tasks} of ${Math.max(...played)} tasks of ${set}, expected at least ` +
  `${100 * minSharedTasks} %: their scores are not compared; give both the same seed and environment`;

const trainedText = ({ campaigns, leftOut }: CampaignPair, set: string): string =>
  `${campaigns.join(' and ')}: ${leftOut} tasks of ${set} are left out, because one of the two policies was trained on them`;

const failedMatches = ({ matches }: Comparison): string[] =>
  matches.flatMap(({ campaign, matched, iterations }) =>
    iterations
      .filter(({ admitted, wanted }) => admitted !== wanted)
      .map(
        ({ iteration, admitted, wanted }) =>
          `match failed: ${campaign} admitted ${admitted} tasks in iteration ${iteration}, expected ${wanted} as ${matched}`,
      ),
  );

/** The effort of a campaign beside the effort of the campaign that it is matched with. */
function matchText({ campaign, matched, iterations }: MatchedPair): string {
  const both = (
    unit: string,
    key: 'candidates' | 'modelCalls' | 'modelTokens',
  ): Column<(typeof iterations)[number]>[] => [
    number(`${unit}: ${campaign}`, (row) => row.effort?.[key]),
    number(matched, (row) => row.matchedEffort?.[key]),
  ];
  const effort = terminalTable(iterations, [
    ...properties('iteration', 'wanted', 'admitted', 'refills'),
    text('match', (row) => (row.admitted === row.wanted ? 'met' : 'failed')),
    ...both('candidates', 'candidates'),
    ...both('model calls', 'modelCalls'),
    ...both('model tokens', 'modelTokens'),
  ]);
  return `match of ${campaign} with ${matched}\n\n${effort}`;
}

function comparisonText(comparison: Comparison): string {
  const { campaigns, seeds, forks, differences, effort, matches, policies, evaluationSet } = comparison;
  const spent = effort.flatMap((iterations, i) => iterations.map((row) => ({ campaign: campaigns[i]!, ...row })));
  const origins = forks.map(forkOrigin).flatMap((from, i) => (from ? [`${campaigns[i]!} is forked from ${from}`] : []));
  return [
    ...(origins.length > 0 ? [origins.join('\n')] : []),
    'different keys of the specs',
    differencesTable(differences, campaigns),
    'effort',
    terminalTable(spent, [
      ...properties(
        'campaign',
        'iteration',
        'candidates',
        'admitted',
        'attempts',
        'updates',
        'trainedTokens',
        'modelCalls',
        'modelTokens',
      ),
    ]),
    ...matches.map(matchText),
    'compared policies',
    terminalTable(
      campaigns.map((name, i) => ({ name, seed: seeds[i]!, policy: policies[i] })),
      [
        text('campaign', (row) => row.name),
        text('seed', (row) => row.seed),
        text('active policy', ({ policy }) => (policy ? shortHash(policy) : null)),
      ],
    ),
    scoresText(comparison),
    ...(comparison.baseline ? [baselineText(comparison.baseline, evaluationSet)] : []),
    ...(evaluationSet === 'dev' ? ['The promotion gates of the campaigns have read these tasks.'] : []),
  ].join('\n\n');
}

const baselineText = ({ what, policyId, campaigns }: ComparedBaseline, set: string): string =>
  [
    `failures on the tasks of ${set} that the ${what} (${shortHash(policyId)}) failed`,
    terminalTable(campaigns, [
      text('campaign', (row) => row.campaign),
      number('tasks', (row) => row.tasks),
      number('failed', (row) => row.failed),
      number('share', (row) => row.share?.rate, rate),
      number('95 %', ({ share: found }) => interval(found?.low, found?.high)),
      number('near misses', (row) => row.nearMisses),
      number('mean reward', (row) => row.meanReward, rate),
    ]),
  ].join('\n\n');

function scoresText({ pairs, evaluationSet, meaning }: Comparison): string {
  const refused = pairs.filter(({ tests }) => !tests);
  const rows = pairs.flatMap(({ tests, ...pair }) => (tests ? [{ ...pair, ...tests }] : []));
  const named: Column<(typeof rows)[number]>[] = [
    text('first : second', ({ campaigns }) => campaigns.join(' : ')),
    number('tasks', (row) => row.tasks),
  ];
  const wilson = ({ intervals }: (typeof rows)[number], i: 0 | 1) => interval(intervals[i]!.low, intervals[i]!.high);
  const tables = [
    `${meaning} Holm p values are corrected for the ${counted(rows.length, 'pair')}.`,
    `success on ${evaluationSet}, task by task`,
    terminalTable(rows, [
      ...named,
      ...properties('both', 'onlyFirst', 'onlySecond', 'neither'),
      number('first', (row) => row.successes[0], rate),
      number('95 %', (row) => wilson(row, 0)),
      number('second', (row) => row.successes[1], rate),
      number('95 %', (row) => wilson(row, 1)),
      number('McNemar p', (row) => row.mcnemarP, pValue),
      number('Holm p', (row) => row.mcnemarHolm, pValue),
    ]),
    `reward on ${evaluationSet}, second minus first`,
    terminalTable(rows, [
      ...named,
      number('first', (row) => row.meanRewards[0], rate),
      number('second', (row) => row.meanRewards[1], rate),
      number('difference', (row) => row.difference.mean, signed),
      number('95 %', ({ difference }) => interval(difference.low, difference.high, signed)),
      number('sign-flip p', (row) => row.signFlipP, pValue),
      number('Holm p', (row) => row.signFlipHolm, pValue),
    ]),
  ];
  return [
    ...(rows.length > 0 ? tables : []),
    ...refused.map(
      ({ campaigns, tasks }) => `${campaigns.join(' and ')}: too few tasks of ${evaluationSet} are shared (${tasks})`,
    ),
  ].join('\n\n');
}
