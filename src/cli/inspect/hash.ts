import type { Command } from 'commander';
import { contentHash } from '../../store/audit/content-hash';
import { shortHash } from '../../domain/formats';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve hash <campaign>`: prints the content hash of a campaign and of its parts. */
export function addHash(program: Command): void {
  program
    .command('hash <campaign>')
    .description("hash a campaign's content; interruptions do not change the hash")
    .option('--json', 'print the hashes as JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withConnections(async ({ store, pool }) => {
        const { id } = await store.campaigns.getByName(name);
        const content = await contentHash(pool, id);
        const parts = Object.entries(content.parts).filter(([, { rows }]) => rows > 0);
        printResult(json, { campaign: name, ...content }, () => `${content.hash}\n\n${partTable(parts)}`);
      }),
    );
}

const partTable = (parts: readonly [part: string, { rows: number; hash: string }][]): string =>
  terminalTable(parts, [
    text('part', ([part]) => part),
    number('rows', ([, { rows }]) => rows),
    text('hash', ([, { hash }]) => shortHash(hash)),
  ]);
