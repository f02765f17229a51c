import type { Command } from 'commander';

type AddCommand = (program: Command) => void;

const control = async (): Promise<AddCommand> => (await import('./control.js')).addControl;

/**
 * Every command, in the order of the help, by the first word that calls it. A call loads its own command and no other:
 * a worker that is started again, the most frequent call of all, begins in half the time.
 */
const commands: Record<string, () => Promise<AddCommand>> = {
  quickstart: async () => (await import('./quickstart.js')).addQuickstart,
  up: async () => (await import('./up.js')).addUp,
  down: async () => (await import('./down.js')).addDown,
  doctor: async () => (await import('./doctor.js')).addDoctor,
  start: async () => (await import('./start.js')).addStart,
  list: async () => (await import('./list.js')).addList,
  status: async () => (await import('./status.js')).addStatus,
  pause: control,
  resume: control,
  retry: control,
  skip: control,
  stop: control,
  abort: control,
  tasks: async () => (await import('./tasks.js')).addTasks,
  trajectory: async () => (await import('./trajectory.js')).addTrajectory,
  pairs: async () => (await import('./pairs.js')).addPairs,
  lineage: async () => (await import('./lineage.js')).addLineage,
  fork: async () => (await import('./fork.js')).addFork,
  backup: async () => (await import('./backup.js')).addBackup,
  restore: async () => (await import('./restore.js')).addRestore,
  reconcile: async () => (await import('./reconcile.js')).addReconcile,
  hash: async () => (await import('./hash.js')).addHash,
  chaos: async () => (await import('./chaos.js')).addChaos,
  compare: async () => (await import('./compare.js')).addCompare,
  report: async () => (await import('./report.js')).addReport,
  export: async () => (await import('./export.js')).addExport,
  experts: async () => (await import('./experts.js')).addExperts,
  budget: async () => (await import('./budget.js')).addBudget,
  approve: async () => (await import('./approve.js')).addApprove,
  prompts: async () => (await import('./prompts.js')).addPrompts,
  model: async () => (await import('./model.js')).addModel,
  env: async () => (await import('./env.js')).addEnv,
  worker: async () => (await import('./worker.js')).addWorker,
  codec: async () => (await import('./codec.js')).addCodec,
  supervise: async () => (await import('./supervise.js')).addSupervise,
  migrate: async () => (await import('./migrate.js')).addMigrate,
};

/** Adds the command that is named, or all of them where none is: for the help, and to say what there is. */
export async function addCommands(program: Command, named: string | undefined): Promise<void> {
  const load = named && Object.hasOwn(commands, named) ? [commands[named]!] : [...new Set(Object.values(commands))];
  for (const add of await Promise.all(load.map((one) => one()))) add(program);
}
