import type { Command } from 'commander';
import { addAnalyze } from './analyze';
import { addCombine } from './combine';
import { addExport } from './export';
import { addFreeze } from './freeze';
import { addImport } from './import';
import { addOperate } from './operate';
import { addPlan } from './plan';
import { addPool } from './pool';
import { addReport } from './report';
import { addRerun } from './rerun';
import { addRun } from './run';
import { addStart } from './start';
import { addStatus } from './status';

/** `coevolve experiment <verb>`: methods x seeds under matched effort. */
export function addExperiment(program: Command): void {
  const group = program
    .command('experiment')
    .description('compare methods over seeds, with matched effort and verdicts');
  addRun(group);
  addPlan(group);
  addFreeze(group);
  addStart(group);
  addStatus(group);
  addOperate(group);
  addRerun(group);
  addAnalyze(group);
  addReport(group);
  addCombine(group);
  addPool(group);
  addExport(group);
  addImport(group);
}
