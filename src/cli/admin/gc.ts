import { type Command } from 'commander';
import { deleteGarbage, findGarbage, garbageDays } from '../../client/collect-garbage';
import { withConnections } from '../../client/connections';
import { byteSize } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { integerIn } from '../arguments/integer';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Options = { olderThan: number; yes?: boolean; json?: boolean };

const age = (days: number): string => (days === garbageDays ? '' : ` --older-than ${days}`);

/** `coevolve gc`: artifacts that nothing refers to. */
export function addGc(program: Command): void {
  program
    .command('gc')
    .description('list artifacts without rows; delete them with --yes')
    .option('--older-than <days>', 'keep what changed within these days', integerIn(0, 3650), garbageDays)
    .option('--yes', 'delete them')
    .option('--json', 'print them as JSON')
    .action(({ olderThan, yes, json }: Options) =>
      withConnections(async (connections) => {
        const garbage = await findGarbage(connections, olderThan);
        if (yes) await deleteGarbage(connections, garbage);
        const bytes = garbage.reduce((sum, entry) => sum + entry.bytes, 0);
        const result = { deleted: yes === true, bytes, artifacts: garbage };
        printResult(json, result, () =>
          terminalTable(garbage, [
            text('artifact', (entry) => entry.path),
            number('size', (entry) => entry.bytes, byteSize),
          ]),
        );
        if (garbage.length === 0) printMessage(`every artifact belongs to rows, or changed within ${olderThan} days`);
        else if (yes) printMessage(`deleted ${byteSize(bytes)}`);
        else printMessage(`${byteSize(bytes)}; \`coevolve gc${age(olderThan)} --yes\` deletes them`);
      }),
    );
}
