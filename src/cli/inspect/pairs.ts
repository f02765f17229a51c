import { UsageError } from '../../errors/errors';
import type { Command } from 'commander';
import { printMessage, printResult, table } from '../output/output';
import { withConnections } from '../../client/connections';

/** `coevolve pairs <campaign> [iteration]` */
export function addPairs(program: Command): void {
  program
    .command('pairs <campaign> [iteration]')
    .description('list preference pairs of an iteration (default: the last with pairs)')
    .option('--json', 'print the pairs as JSON')
    .action((name: string, iteration: string | undefined, { json }: { json?: boolean }) =>
      withConnections(async ({ store }) => {
        const { id } = await store.campaigns.getByName(name);
        const number = iteration === undefined ? await store.preferencePairs.lastIteration(id) : Number(iteration);
        if (!Number.isInteger(number)) throw new UsageError(`iteration: found "${iteration}", expected a number`);
        const pairs = await store.preferencePairs.list(id, number);
        const rows = pairs.map((p) => [
          p.forRole,
          p.kind,
          p.chosenReward.toFixed(2),
          p.rejectedReward.toFixed(2),
          p.hardNegative ? 'hard' : '',
          `${name}/${p.chosenId}`,
          `${name}/${p.rejectedId}`,
        ]);
        printResult(json, pairs, () =>
          table(['trains', 'kind', 'chosen', 'rejected', '', 'chosen trajectory', 'rejected trajectory'], rows),
        );
        if (pairs.length === 0)
          printMessage(`iteration ${number} of ${name} has no pairs; \`coevolve status ${name}\` shows its phases`);
      }),
    );
}
