import { UsageError } from '../../errors/errors';
import type { Command } from 'commander';
import { addListOptions, firstRows, printMore, type ListOptions } from '../output/listing';
import { printMessage, printResult } from '../output/output';
import { withConnections } from '../../client/connections';
import { decimal } from '../../domain/formats';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve pairs <campaign> [iteration]` */
export function addPairs(program: Command): void {
  const command = program
    .command('pairs <campaign> [iteration]')
    .description('list preference pairs of an iteration (default: the last with pairs)');
  addListOptions(command, 'the pairs as JSON').action(
    (name: string, iteration: string | undefined, options: ListOptions) =>
      withConnections(async ({ store }) => {
        const { id } = await store.campaigns.getByName(name);
        const shown = iteration === undefined ? await store.preferencePairs.lastIteration(id) : Number(iteration);
        if (!Number.isInteger(shown)) throw new UsageError(`iteration: found "${iteration}", expected a number`);
        const page = firstRows(await store.preferencePairs.list(id, shown), options);
        printResult(options.json, page.rows, () =>
          terminalTable(page.rows, [
            text('trains', (p) => p.forRole),
            text('kind', (p) => p.kind),
            number('chosen', (p) => decimal(p.chosenReward)),
            number('rejected', (p) => decimal(p.rejectedReward)),
            text('', (p) => (p.hardNegative ? 'hard' : '')),
            text('chosen trajectory', (p) => `${name}/${p.chosenId}`),
            text('rejected trajectory', (p) => `${name}/${p.rejectedId}`),
          ]),
        );
        if (page.total === 0)
          printMessage(`iteration ${shown} of ${name} has no pairs; \`coevolve status ${name}\` shows its phases`);
        else printMore(page, 'pairs');
      }),
  );
}
