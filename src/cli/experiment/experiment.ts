import type { Command } from 'commander';
import { addAnalyze } from './analyze';
import { addExport } from './export';
import { addFreeze } from './freeze';
import { addImport } from './import';
import { addPlan } from './plan';
import { addReport } from './report';

/** `coevolve experiment <verb>`: methods x seeds under matched effort. */
export function addExperiment(program: Command): void {
  const group = program
    .command('experiment')
    .description('compare methods over seeds, with matched effort and verdicts');
  addPlan(group);
  addFreeze(group);
  addAnalyze(group);
  addReport(group);
  addExport(group);
  addImport(group);
}
