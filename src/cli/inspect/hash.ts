import type { Command } from 'commander';
import { contentHash } from '../../store/audit/content-hash';
import { printResult, shortHash, table } from '../base/output';
import { withSession } from '../../client/session';

/** `coevolve hash <campaign>`: one hash of what a campaign found and decided, and of each part of it. */
export function addHash(program: Command): void {
  program
    .command('hash <campaign>')
    .description('hash what a campaign found and decided: equal for equal specs, whatever interrupted them')
    .option('--json', 'print it as JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withSession(async ({ store, pool }) => {
        const { id } = await store.campaigns.getByName(name);
        const found = await contentHash(pool, id);
        const parts = Object.entries(found.parts).filter(([, { rows }]) => rows > 0);
        const lines = parts.map(([part, { rows, hash }]) => [part, rows, shortHash(hash)]);
        printResult(
          json,
          { campaign: name, ...found },
          () => `${found.hash}\n\n${table(['part', 'rows', 'hash'], lines)}`,
        );
      }),
    );
}
