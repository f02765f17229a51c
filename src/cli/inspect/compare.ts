import type { Command } from 'commander';
import { forkOrigin, type ForkOrigin } from '../../domain/campaign/fork-origin';
import { exactMcNemar, wilsonInterval } from '../../domain/evaluation/statistics';
import { isSuccess } from '../../domain/rollout/trajectory';
import { differencesOf, type Difference } from '../../spec/differences';
import { listEffort, listPairedRewards, type IterationEffort } from '../../store/audit/compare';
import { printResult, probability, table } from '../base/output';
import { withSession } from '../../client/session';

/** `coevolve compare <campaign> <other>`: what differs in their specs, what each spent, and which acts better. */
export function addCompare(program: Command): void {
  program
    .command('compare <campaign> <other>')
    .description('compare two campaigns: specs, effort per iteration, held-out tasks paired')
    .option('--json', 'print it as JSON')
    .action((name: string, other: string, { json }: { json?: boolean }) =>
      withSession(async ({ store, pool }) => {
        const [a, b] = [await store.campaigns.getByName(name), await store.campaigns.getByName(other)];
        const comparison = {
          campaigns: [name, other],
          forks: [a, b].map(({ forkedFrom, forkIteration }) => ({ forkedFrom, forkIteration })),
          differences: differencesOf(a.spec, b.spec),
          effort: [await listEffort(pool, a.id), await listEffort(pool, b.id)] as const,
          heldOut: paired(await listPairedRewards(pool, a.id, b.id)),
        };
        printResult(json, comparison, () => comparisonText(comparison));
      }),
    );
}

type Comparison = {
  campaigns: string[];
  forks: ForkOrigin[];
  differences: Difference[];
  effort: readonly [IterationEffort[], IterationEffort[]];
  heldOut: ReturnType<typeof paired>;
};

/** Success of both on the same tasks, and the exact McNemar test on those that only one solves. */
function paired(rewards: readonly { a: number; b: number }[]) {
  const both = rewards.filter(({ a, b }) => isSuccess(a) && isSuccess(b)).length;
  const onlyFirst = rewards.filter(({ a, b }) => isSuccess(a) && !isSuccess(b)).length;
  const onlySecond = rewards.filter(({ a, b }) => !isSuccess(a) && isSuccess(b)).length;
  const tasks = rewards.length;
  return {
    ...{ tasks, both, onlyFirst, onlySecond, neither: tasks - both - onlyFirst - onlySecond },
    intervals: [both + onlyFirst, both + onlySecond].map((successes) => wilsonInterval(successes, tasks)),
    mcnemarP: exactMcNemar(onlyFirst, onlySecond),
  };
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
    'specs differ in',
    table(['key', ...campaigns], changed),
    'effort',
    table([...head, 'trained tokens', 'model calls', 'model tokens'], spent),
    `held-out tasks, paired (${tasks}): both ${both}, only ${campaigns[0]} ${onlyFirst}, only ${campaigns[1]} ${onlySecond}, neither ${neither}; exact McNemar p ${probability(mcnemarP)}`,
  ].join('\n\n');
}
