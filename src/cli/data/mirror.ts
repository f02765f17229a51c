import { once } from 'node:events';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { withConnections } from '../../client/connections';
import { counted } from '../../domain/formats';
import { mirror } from '../../exports/mirror';
import { trackers, type Tracker } from '../../exports/tracker-process';
import { createReaderPool } from '../../store/reporting/reader-pool';
import { printMessage, printResult } from '../output/output';

type Options = { tracker: Tracker; output?: string; once?: boolean; json?: boolean };

const statementTimeoutMs = 60_000;

/** `coevolve mirror`: copies numbers of campaigns into the files of a tracker, outside of the campaigns. */
export function addMirror(program: Command): void {
  program
    .command('mirror [campaign...]')
    .description("copy the numbers of campaigns (default: all) into a tracker's files until interrupted")
    .addOption(
      new Option('--tracker <tracker>', 'tracker whose files are written').choices(trackers).default('tensorboard'),
    )
    .option('--output <folder>', 'folder of the files (default: trackers/<tracker> in the home)')
    .option('--once', 'end after the rows that exist now')
    .option('--json', 'print the result as JSON')
    .action((campaigns: string[], options: Options) =>
      withConnections(async ({ config, store }) => {
        for (const name of campaigns) await store.campaigns.getByName(name);
        const { tracker, json } = options;
        const output = path.resolve(options.output ?? path.join(config.home, 'trackers', tracker));
        const reader = await createReaderPool(config.databaseUrl!, { max: 1, timeoutMs: statementTimeoutMs });
        const stop = new AbortController();
        void Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal))).then(() => stop.abort());
        if (!options.once) printMessage(`mirroring into ${output} until interrupted`);
        try {
          const rows = await mirror(reader, config, {
            tracker,
            folder: output,
            campaigns,
            once: options.once ?? false,
            signal: stop.signal,
            log: printMessage,
          });
          printResult(json, { tracker, output, rows }, () => `${counted(rows, 'row')}: ${output}`);
        } finally {
          await reader.end();
        }
      }),
    );
}
