import type { Command } from 'commander';
import { bringUpStack } from '../../client/bring-up-stack';
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
    .option('--forget', 'drop the variables that an earlier `up` was given')
    .option('--json', 'print addresses and processes as JSON')
    .action(async ({ unsupervised, forget, json }: Options) => {
      const config = await bringUpStack(process.env, {
        supervised: !unsupervised,
        forget: forget ?? false,
        onProgress: printMessage,
      });
      const { home, temporal } = config;
      const { uiUrl, address } = temporal;
      const lists = campaignLists(temporal);
      const services = stackStatus(config);
      const port = services.find(({ name }) => name === 'api')?.ports?.api;
      const api = port && `http://127.0.0.1:${port}/api/v1`;
      const result = { home, temporalUi: uiUrl, temporal: address, api, lists, services };
      const text = [
        uiUrl ? `Temporal UI: ${uiUrl}` : `Temporal: ${address}`,
        ...lists.map(({ name, url }) => `  campaigns, ${name}: ${url}`),
        ...(api ? [`page: http://127.0.0.1:${port}`, `API: ${api}`] : []),
      ];
      printResult(json, result, () => text.join('\n'));
    });
}
