import type { Command } from 'commander';
import { readConfig, type Config } from '../../config';
import { migrate } from '../../store/base/migrate';
import { stackStatus, stackUp } from '../../stack';
import { printResult, say } from '../base/output';

/** `coevolve up` brings the embedded stack up; what runs already is left alone. */
export function addUp(program: Command): void {
  program
    .command('up')
    .description('start the embedded stack: database, Temporal, environments, policies, workers; safe to repeat')
    .option('--unsupervised', 'start no supervisor: what dies stays dead until the next `up`')
    .option('--json', 'print what runs as JSON')
    .action(async ({ unsupervised, json }: { unsupervised?: boolean; json?: boolean }) => {
      const config = readConfig();
      const { home, temporal } = await bringUp(config, { supervised: !unsupervised });
      const { uiUrl, address } = temporal;
      const result = { home, temporalUi: uiUrl, temporal: address, services: stackStatus(config) };
      printResult(json, result, () => (uiUrl ? `Temporal UI: ${uiUrl}` : `Temporal: ${address}`));
    });
}

/** The stack with its schema; returns where everything is. */
export const bringUp = (config: Config, { supervised = true } = {}): Promise<Config> =>
  stackUp(config, {
    supervised,
    onProgress: say,
    async beforeWorkers({ databaseUrl, projectRoot }) {
      const applied = databaseUrl ? await migrate(databaseUrl, projectRoot) : [];
      if (applied.length > 0) say(`database: ${applied.length} migrations applied`);
    },
  });
