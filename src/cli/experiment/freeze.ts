import type { Command } from 'commander';
import { freezeExperiment, type Frozen } from '../../client/experiments/freeze-experiment';
import { currentConfig, withConnections } from '../../client/connections';
import { isTable, readFrozen } from '../../client/experiments/read-table';
import { loadForEnvironment } from '../../client/experiments/load-for-environment';
import { printChosen } from '../output/print-chosen';
import { shortHash } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { UsageError } from '../../errors/errors';

type Options = { profile?: string; amend?: boolean; json?: boolean };

/** `coevolve experiment freeze <file>`: stores the experiment of a file, or of an exported table, before its first score. */
export function addFreeze(group: Command): void {
  group
    .command('freeze <file>')
    .description('store the experiment of a file or a table, with all versions, before its first score')
    .option('--profile <name>', 'size of the experiment: one of its profiles')
    .option('--amend', 'freeze a changed file although cells have begun')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { profile, amend = false, json }: Options) => {
      if (isTable(file) && profile !== undefined)
        throw new UsageError(`--profile: found ${profile}, expected none: a table has one size`);
      const loaded = isTable(file)
        ? await readFrozen(file)
        : await loadForEnvironment(currentConfig(), file, { profile, onChosen: printChosen });
      await withConnections(async (connections) => {
        const { source: _source, ...frozen } = await freezeExperiment(connections, loaded, { amend });
        const { sharedSeed = [] } = await connections.store.experimentRecords.get(frozen.name);
        for (const other of sharedSeed)
          printMessage(
            `warning: seed: ${loaded.experiment.seed} is that of ${other} too: tasks and starts may be the same`,
          );
        printResult(json, { ...frozen, sharedSeed }, () => frozenText(frozen));
      });
    });
}

function frozenText({ name, version, hash, outcome, differences, frozenAt }: Omit<Frozen, 'source'>): string {
  const what = `${name} version ${version}, ${shortHash(hash)}`;
  if (outcome === 'unchanged') return `unchanged: ${what}, frozen at ${frozenAt.toISOString()}`;
  const keys = (differences as { key: string }[]).map(({ key }) => key).join(', ');
  return `${outcome}: ${what}${outcome === 'amended' ? `; differences: ${keys}` : ''}`;
}
