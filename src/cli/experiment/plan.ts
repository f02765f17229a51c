import type { Command } from 'commander';
import { currentConfig } from '../../client/connections';
import { planExperiment } from '../../client/experiments/plan-experiment';
import { loadForEnvironment } from '../../client/experiments/load-for-environment';
import { printChosen } from '../output/print-chosen';
import { printResult } from '../output/output';
import { planText } from './plan-text';

type Flags = { profile?: string; measured?: string; json?: boolean };

/** `coevolve experiment plan <file>`: prints arms, cells and effort; starts nothing. */
export function addPlan(group: Command): void {
  group
    .command('plan <file>')
    .description('check an experiment and estimate its effort; starts nothing')
    .option('--profile <name>', 'size of the experiment: one of its profiles')
    .option('--measured <table>', 'deviation of an earlier experiment: its exported .jsonl table, or .gz')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { profile, measured, json }: Flags) => {
      const config = currentConfig();
      const { experiment } = await loadForEnvironment(config, file, { profile, onChosen: printChosen });
      const plan = await planExperiment(config, experiment, measured ?? null);
      printResult(json, plan, () => planText(plan));
    });
}
