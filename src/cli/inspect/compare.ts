import type { Command } from 'commander';
import { UsageError } from '../../errors/errors';
import { compareCampaigns, type CampaignPair, type Comparison, type MatchedPair } from '../../client/compare-campaigns';
import { withConnections } from '../../client/connections';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { minSharedTasks } from '../../domain/evaluation/compare-rewards';
import { interval, pValue, rate, share, shortHash, signed } from '../../tables/formats';
import { printMessage, printResult, table } from '../output/output';

type Options = { set?: string; allPairs?: boolean; json?: boolean };

/** `coevolve compare <campaign...>` */
export function addCompare(program: Command): void {
  program
    .command('compare <campaigns...>')
    .description('compare campaigns: specs, effort, reward and success on the same tasks')
    .option('--set <name>', 'evaluation set of the scores (default: test, or dev)')
    .option('--all-pairs', 'compare every pair, not only the first with each')
    .option('--json', 'print the comparison as JSON')
    .action((names: string[], { set, allPairs, json }: Options) => {
      if (new Set(names).size < 2)
        throw new UsageError(
          `compare: found ${names.join(' ')}, expected at least two campaigns; see \`coevolve list\``,
        );
      return withConnections(async (connections) => {
        const options = { ...(set === undefined ? {} : { evaluationSet: set }), allPairs: allPairs ?? false };
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

/** The effort of a campaign beside that of the one that it is matched with. */
function matchText({ campaign, matched, iterations }: MatchedPair): string {
  const rows = iterations.map(({ effort, matchedEffort, ...match }) => [
    match.iteration,
    match.wanted,
    match.admitted,
    match.refills,
    match.admitted === match.wanted ? 'met' : 'failed',
    effort?.candidates ?? null,
    matchedEffort?.candidates ?? null,
    effort?.modelCalls ?? null,
    matchedEffort?.modelCalls ?? null,
    effort?.modelTokens ?? null,
    matchedEffort?.modelTokens ?? null,
  ]);
  const both = (unit: string): string[] => [`${unit}: ${campaign}`, matched];
  const head = ['iteration', 'wanted', 'admitted', 'refills', 'match'];
  return `match of ${campaign} with ${matched}\n\n${table(
    [...head, ...both('candidates'), ...both('model calls'), ...both('model tokens')],
    rows,
  )}`;
}

function comparisonText(comparison: Comparison): string {
  const { campaigns, seeds, forks, differences, effort, matches, policies, evaluationSet } = comparison;
  const changed = differences.map(({ key, values }) => [
    key,
    ...values.map((value) => (value === null ? null : JSON.stringify(value))),
  ]);
  const spent = effort.flatMap((iterations, i) =>
    iterations.map((e) => [
      campaigns[i]!,
      e.iteration,
      e.candidates,
      e.admitted,
      e.attempts,
      e.updates,
      e.trainedTokens,
      e.modelCalls,
      e.modelTokens,
    ]),
  );
  const head = ['campaign', 'iteration', 'candidates', 'admitted', 'attempts', 'updates'];
  const origins = forks.map(forkOrigin).flatMap((from, i) => (from ? [`${campaigns[i]!} is forked from ${from}`] : []));
  const compared = campaigns.map((name, i) => [name, seeds[i]!, policies[i] ? shortHash(policies[i]) : null]);
  return [
    ...(origins.length > 0 ? [origins.join('\n')] : []),
    'different keys of the specs',
    table(['key', ...campaigns], changed),
    'effort',
    table([...head, 'trained tokens', 'model calls', 'model tokens'], spent),
    ...matches.map(matchText),
    'compared policies',
    table(['campaign', 'seed', 'active policy'], compared),
    scoresText(comparison),
    ...(evaluationSet === 'dev' ? ['The promotion gates of the campaigns have read these tasks.'] : []),
  ].join('\n\n');
}

function scoresText({ pairs, evaluationSet, meaning }: Comparison): string {
  const refused = pairs.filter(({ tests }) => !tests);
  const rows = pairs.flatMap(({ campaigns, tasks, tests, ...counts }) => {
    if (!tests) return [];
    const { both, onlyFirst, onlySecond, neither, intervals } = counts;
    const { meanRewards, difference, signFlipP, signFlipHolm, mcnemarP, mcnemarHolm } = tests;
    const pair = campaigns.join(' : ');
    return [
      {
        success: [
          pair,
          tasks,
          both,
          onlyFirst,
          onlySecond,
          neither,
          share(both + onlyFirst, tasks),
          interval(intervals[0]!.low, intervals[0]!.high),
          share(both + onlySecond, tasks),
          interval(intervals[1]!.low, intervals[1]!.high),
          pValue(mcnemarP),
          pValue(mcnemarHolm),
        ],
        reward: [
          pair,
          tasks,
          rate(meanRewards[0]),
          rate(meanRewards[1]),
          signed(difference.mean),
          interval(difference.low, difference.high, signed),
          pValue(signFlipP),
          pValue(signFlipHolm),
        ],
      },
    ];
  });
  const ofSuccess = ['first : second', 'tasks', 'both', 'only first', 'only second', 'neither'];
  return [
    ...(rows.length > 0
      ? [
          `success on ${evaluationSet}, task by task`,
          table(
            [...ofSuccess, 'first', '95 %', 'second', '95 %', 'McNemar p', 'Holm p'],
            rows.map(({ success }) => success),
          ),
          `reward on ${evaluationSet}, second minus first`,
          table(
            ['first : second', 'tasks', 'first', 'second', 'difference', '95 %', 'sign-flip p', 'Holm p'],
            rows.map(({ reward }) => reward),
          ),
          `${meaning} Holm p values are corrected for the ${rows.length} ${rows.length === 1 ? 'pair' : 'pairs'}.`,
        ]
      : []),
    ...refused.map(
      ({ campaigns, tasks }) => `${campaigns.join(' and ')}: too few tasks of ${evaluationSet} are shared (${tasks})`,
    ),
  ].join('\n\n');
}
