import type { Command } from 'commander';
import { freezeExperiment, type Frozen } from '../../client/experiments/freeze-experiment';
import { currentConfig, withConnections } from '../../client/connections';
import { loadForEnvironment } from '../../client/experiments/load-for-environment';
import { printChosen } from '../output/print-chosen';
import { shortHash } from '../../domain/formats';
import { printResult } from '../output/output';

type Options = { profile?: string; amend?: boolean; json?: boolean };

/** `coevolve experiment freeze <file>`: stores the experiment before its first score. */
export function addFreeze(group: Command): void {
  group
    .command('freeze <file>')
    .description('store an experiment and all versions before its first score; safe to repeat')
    .option('--profile <name>', 'size of the experiment: one of its profiles')
    .option('--amend', 'freeze a changed file although cells have begun')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { profile, amend = false, json }: Options) => {
      const loaded = await loadForEnvironment(currentConfig(), file, { profile, onChosen: printChosen });
      await withConnections(async (connections) => {
        const { source: _source, ...frozen } = await freezeExperiment(connections, loaded, { amend });
        printResult(json, frozen, () => frozenText(frozen));
      });
    });
}

function frozenText({ name, version, hash, outcome, differences, frozenAt }: Omit<Frozen, 'source'>): string {
  const what = `${name} version ${version}, ${shortHash(hash)}`;
  if (outcome === 'unchanged') return `unchanged: ${what}, frozen at ${frozenAt.toISOString()}`;
  const keys = (differences as { key: string }[]).map(({ key }) => key).join(', ');
  return `${outcome}: ${what}${outcome === 'amended' ? `; differences: ${keys}` : ''}`;
}
