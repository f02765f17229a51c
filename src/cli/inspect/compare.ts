import type { Command } from 'commander';
import { compareCampaigns, type Comparison } from '../../client/compare-campaigns';
import { withSession } from '../../client/session';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { printResult, probability, table } from '../base/output';

/** `coevolve compare <campaign> <other>` */
export function addCompare(program: Command): void {
  program
    .command('compare <campaign> <other>')
    .description('compare two campaigns: specs, effort per iteration, success on the same held-out tasks')
    .option('--json', 'print the comparison as JSON')
    .action((name: string, other: string, { json }: { json?: boolean }) =>
      withSession(async (session) => {
        const comparison = await compareCampaigns(session, name, other);
        printResult(json, comparison, () => comparisonText(comparison));
      }),
    );
}

function comparisonText({ campaigns, forks, differences, effort, heldOut }: Comparison): string {
  const changed = differences.map(({ key, first, second }) => [key, JSON.stringify(first), JSON.stringify(second)]);
  const spent = effort.flatMap((iterations, i) =>
    iterations.map((e) => [
      ...[campaigns[i]!, e.iteration, e.candidates, e.admitted, e.attempts, e.updates],
      ...[e.trainedTokens, e.modelCalls, e.modelTokens],
    ]),
  );
  const { tasks, both, onlyFirst, onlySecond, neither, mcnemarP } = heldOut;
  const head = ['campaign', 'iteration', 'candidates', 'admitted', 'attempts', 'updates'];
  const origins = forks.map(forkOrigin).flatMap((from, i) => (from ? [`${campaigns[i]!} is forked from ${from}`] : []));
  return [
    ...(origins.length > 0 ? [origins.join('\n')] : []),
    'different keys of the specs',
    table(['key', ...campaigns], changed),
    'effort',
    table([...head, 'trained tokens', 'model calls', 'model tokens'], spent),
    `held-out tasks, paired (${tasks}): both ${both}, only ${campaigns[0]} ${onlyFirst}, only ${campaigns[1]} ${onlySecond}, neither ${neither}; exact McNemar p ${probability(mcnemarP)}`,
  ].join('\n\n');
}
