import type { Command } from 'commander';
import { addAnalyze } from './analyze';
import { addExport } from './export';
import { addImport } from './import';
import { addReport } from './report';

/** `coevolve experiment <verb>` */
export function addExperiment(program: Command): void {
  const group = program
    .command('experiment')
    .description('compare methods over seeds, with matched effort and verdicts');
  addAnalyze(group);
  addReport(group);
  addExport(group);
  addImport(group);
}
