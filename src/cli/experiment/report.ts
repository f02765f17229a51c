import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { analyzeExperiment } from '../../client/experiments/analyze-experiment';
import { withConnections } from '../../client/connections';
import { renderExperiment } from '../../report/experiment';
import { printResult } from '../output/output';
import { seedCount } from './analyze';

type Flags = { at?: number; exploratory?: true; out?: string; json?: true };

/** `coevolve experiment report <name>` */
export function addReport(group: Command): void {
  group
    .command('report <name>')
    .description('write the HTML report of an analysed experiment')
    .option('--at <seeds>', 'declared look in seeds (default: largest complete)', seedCount)
    .option('--exploratory', 'also an incomplete look: completeness and effort only')
    .option('--out <file>', 'file of the page (default: <name>.html)')
    .option('--json', 'print the path as JSON')
    .action((name: string, { at, exploratory, out, json }: Flags) =>
      withConnections(async (connections) => {
        const request = { at: at ?? null, exploratory: exploratory === true };
        const path = resolve(out ?? `${name}.html`);
        await writeAtomically(path, renderExperiment(await analyzeExperiment(connections, name, request)));
        printResult(json, { path }, () => path);
      }),
    );
}
