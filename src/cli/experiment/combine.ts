import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { combineTables } from '../../client/experiments/combine-tables';
import { currentConfig } from '../../client/connections';
import type { CombinedExperiments, RunMeasure } from '../../domain/experiment/combined';
import { renderCombined } from '../../report/experiment';
import { printResult, table } from '../output/output';
import { points } from './analysis-text';
import { seedCount } from './analyze';

type Flags = { at?: number; out: string; json?: true };

/** `coevolve experiment combine <tables...>` */
export function addCombine(group: Command): void {
  group
    .command('combine <tables...>')
    .description('show arms over three or more environments, from exported .jsonl tables of one experiment each')
    .option('--at <seeds>', 'look that all of them declare, in seeds (default: largest complete)', seedCount)
    .option('--out <file>', 'file of the page', 'combined.html')
    .option('--json', 'print the measures as JSON')
    .action(async (tables: string[], { at, out, json }: Flags) => {
      const combined = await combineTables(currentConfig(), tables.map((file) => resolve(file)), at ?? null); // prettier-ignore
      const path = resolve(out);
      await writeAtomically(path, renderCombined(combined));
      printResult(json, { ...combined, path }, () => combinedText(combined, path));
    });
}

/** Numbers in points. */
const combinedText = ({ experiments, arms }: CombinedExperiments, path: string): string =>
  [
    table(
      ['experiment', 'environment', 'seeds', 'tasks', 'broken rules'],
      experiments.map((own) => [own.name, own.environment, own.seeds, own.tasks, own.brokenRules.join(', ') || 'none']),
    ),
    table(
      ['arm', 'IQM', 'low', 'high', 'optimality gap', 'low', 'high'],
      arms.map(({ arm, iqm, gap }) => [arm, ...cells(iqm), ...cells(gap)]),
    ),
    path,
  ].join('\n\n');

const cells = ({ value, low, high }: RunMeasure): (string | null)[] => [value, low, high].map(points);
