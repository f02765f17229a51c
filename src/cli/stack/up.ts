import type { Command } from 'commander';
import { bringUpStack } from '../../client/bring-up-stack';
import { readConfig } from '../../config';
import { stackStatus } from '../../stack';
import { campaignLists } from '../../temporal/ui-lists';
import { printResult, printMessage } from '../output/output';

type Options = { unsupervised?: boolean; forget?: boolean; json?: boolean };

/** `coevolve up`: starts the services of the embedded stack that do not run. */
export function addUp(program: Command): void {
  program
    .command('up')
    .description('start the embedded stack: database, Temporal, servers, workers; safe to repeat')
    .option('--unsupervised', 'do not restart crashed services until the next `up`')
    .option('--forget', 'drop the settings files of an earlier `up`')
    .option('--json', 'print addresses and processes as JSON')
    .action(async ({ unsupervised, forget, json }: Options) => {
      const config = readConfig();
      const { home, temporal } = await bringUpStack(config, {
        supervised: !unsupervised,
        forget: forget ?? false,
        onProgress: printMessage,
      });
      const { uiUrl, address } = temporal;
      const lists = campaignLists(temporal);
      const result = { home, temporalUi: uiUrl, temporal: address, lists, services: stackStatus(config) };
      const text = [
        uiUrl ? `Temporal UI: ${uiUrl}` : `Temporal: ${address}`,
        ...lists.map(({ name, url }) => `  campaigns, ${name}: ${url}`),
      ];
      printResult(json, result, () => text.join('\n'));
    });
}
