#!/usr/bin/env node
import { Command } from 'commander';
import { addApprove } from './approve';
import { addBackup } from './backup';
import { addBudget } from './budget';
import { addCodec } from './codec';
import { addChaos } from './chaos';
import { addCompare } from './compare';
import { addControl } from './control';
import { addDoctor } from './doctor';
import { addDown } from './down';
import { addEnv } from './env';
import { addExperts } from './experts';
import { addExport } from './export';
import { addFork } from './fork';
import { addHash } from './hash';
import { addLineage } from './lineage';
import { addList } from './list';
import { addMigrate } from './migrate';
import { addModel } from './model';
import { addPairs } from './pairs';
import { addPrompts } from './prompts';
import { addQuickstart } from './quickstart';
import { addReconcile } from './reconcile';
import { addReport } from './report';
import { addRestore } from './restore';
import { addStart } from './start';
import { addStatus } from './status';
import { addSupervise } from './supervise';
import { addTasks } from './tasks';
import { addTrajectory } from './trajectory';
import { addUp } from './up';
import { addWorker } from './worker';
import { say } from './output';
import { explain } from './explain';

const program = new Command('coevolve')
  .description('training campaigns in which an LLM agent and its training data evolve together')
  .showHelpAfterError('(see `coevolve --help`)');

for (const add of [addQuickstart, addUp, addDown, addDoctor, addStart, addList, addStatus, addControl, addTasks])
  add(program);
for (const add of [
  addTrajectory,
  addPairs,
  addLineage,
  addFork,
  addBackup,
  addRestore,
  addReconcile,
  addHash,
  addChaos,
  addCompare,
  addReport,
  addExport,
  addExperts,
  addBudget,
  addApprove,
  addPrompts,
  addModel,
  addEnv,
  addWorker,
  addCodec,
  addSupervise,
  addMigrate,
])
  add(program);

// Whoever reads the output may stop reading: `coevolve tasks ... | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

program.parseAsync().catch((error: unknown) => {
  say(explain(error));
  process.exitCode = 1;
});
