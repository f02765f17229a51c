import type { Command } from 'commander';
import { UsageError } from '../../base/errors';
import {
  compareCampaigns,
  minSharedTasks,
  type Comparison,
  type MatchedPair,
  type PairedSuccess,
} from '../../client/compare-campaigns';
import { withSession } from '../../client/session';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { printMessage, printResult, probability, table } from '../base/output';

/** `coevolve compare <campaign...>` */
export function addCompare(program: Command): void {
  program
    .command('compare <campaigns...>')
    .description('compare campaigns: specs, effort, success on the held-out tasks of the first')
    .option('--json', 'print the comparison as JSON')
    .action((names: string[], { json }: { json?: boolean }) => {
      if (new Set(names).size < 2)
        throw new UsageError(
          `compare: found ${names.join(' ')}, expected at least two campaigns; see \`coevolve list\``,
        );
      return withSession(async (session) => {
        const comparison = await compareCampaigns(session, [...new Set(names)]);
        for (const pair of comparison.heldOut) if (pair.mcnemarP === null) printMessage(`warning: ${fewShared(pair)}`);
        for (const problem of failedMatches(comparison)) printMessage(`warning: ${problem}`);
        printResult(json, comparison, () => comparisonText(comparison));
      });
    });
}

const fewShared = ({ campaigns, tasks, played }: PairedSuccess): string =>
  `${campaigns.join(' and ')} share ${tasks} of ${Math.max(...played)} held-out tasks, expected at least ` +
  `${100 * minSharedTasks} %: their success is not compared; give both the same seed and environment`;

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
    ...[match.iteration, match.wanted, match.admitted, match.refills],
    match.admitted === match.wanted ? 'met' : 'failed',
    ...[effort?.candidates ?? null, matchedEffort?.candidates ?? null],
    ...[effort?.modelCalls ?? null, matchedEffort?.modelCalls ?? null],
    ...[effort?.modelTokens ?? null, matchedEffort?.modelTokens ?? null],
  ]);
  const both = (unit: string): string[] => [`${unit}: ${campaign}`, matched];
  const head = ['iteration', 'wanted', 'admitted', 'refills', 'match'];
  return `match of ${campaign} with ${matched}\n\n${table(
    [...head, ...both('candidates'), ...both('model calls'), ...both('model tokens')],
    rows,
  )}`;
}

function comparisonText({ campaigns, forks, differences, effort, matches, heldOut }: Comparison): string {
  const changed = differences.map(({ key, values }) => [
    key,
    ...values.map((value) => (value === null ? null : JSON.stringify(value))),
  ]);
  const spent = effort.flatMap((iterations, i) =>
    iterations.map((e) => [
      ...[campaigns[i]!, e.iteration, e.candidates, e.admitted, e.attempts, e.updates],
      ...[e.trainedTokens, e.modelCalls, e.modelTokens],
    ]),
  );
  const head = ['campaign', 'iteration', 'candidates', 'admitted', 'attempts', 'updates'];
  const origins = forks.map(forkOrigin).flatMap((from, i) => (from ? [`${campaigns[i]!} is forked from ${from}`] : []));
  return [
    ...(origins.length > 0 ? [origins.join('\n')] : []),
    'different keys of the specs',
    table(['key', ...campaigns], changed),
    'effort',
    table([...head, 'trained tokens', 'model calls', 'model tokens'], spent),
    ...matches.map(matchText),
    heldOut.map(pairText).join('\n'),
  ].join('\n\n');
}

function pairText({
  campaigns: [first, second],
  tasks,
  both,
  onlyFirst,
  onlySecond,
  neither,
  mcnemarP,
}: PairedSuccess): string {
  if (mcnemarP === null) return `held-out tasks of ${first} and ${second}: too few are shared (${tasks})`;
  return `held-out tasks, paired (${tasks}): both ${both}, only ${first} ${onlyFirst}, only ${second} ${onlySecond}, neither ${neither}; exact McNemar p ${probability(mcnemarP)}`;
}
