import type { Command } from 'commander';

type AddCommand = (program: Command) => void;

const control = async (): Promise<AddCommand> => (await import('./campaign/operator-commands.js')).addControl;

/**
 * Every command, in the order of the help, by the first word that calls it. A call loads its own command and no other:
 * a worker that is started again, the most frequent call of all, begins in half the time.
 */
const commands: Record<string, () => Promise<AddCommand>> = {
  quickstart: async () => (await import('./stack/quickstart.js')).addQuickstart,
  up: async () => (await import('./stack/up.js')).addUp,
  down: async () => (await import('./stack/down.js')).addDown,
  doctor: async () => (await import('./stack/doctor.js')).addDoctor,
  start: async () => (await import('./campaign/start.js')).addStart,
  list: async () => (await import('./inspect/list.js')).addList,
  status: async () => (await import('./inspect/status.js')).addStatus,
  pause: control,
  resume: control,
  retry: control,
  skip: control,
  stop: control,
  abort: control,
  tasks: async () => (await import('./inspect/tasks.js')).addTasks,
  trajectory: async () => (await import('./inspect/trajectory.js')).addTrajectory,
  pairs: async () => (await import('./inspect/pairs.js')).addPairs,
  lineage: async () => (await import('./inspect/lineage.js')).addLineage,
  fork: async () => (await import('./campaign/fork.js')).addFork,
  backup: async () => (await import('./admin/backup.js')).addBackup,
  restore: async () => (await import('./admin/restore.js')).addRestore,
  reconcile: async () => (await import('./campaign/reconcile.js')).addReconcile,
  hash: async () => (await import('./inspect/hash.js')).addHash,
  compare: async () => (await import('./inspect/compare.js')).addCompare,
  report: async () => (await import('./inspect/report.js')).addReport,
  export: async () => (await import('./data/export.js')).addExport,
  experts: async () => (await import('./data/experts.js')).addExperts,
  budget: async () => (await import('./campaign/budget.js')).addBudget,
  approve: async () => (await import('./campaign/approve.js')).addApprove,
  prompts: async () => (await import('./inspect/prompts.js')).addPrompts,
  model: async () => (await import('./data/model.js')).addModel,
  env: async () => (await import('./data/env.js')).addEnv,
  worker: async () => (await import('./stack/worker.js')).addWorker,
  codec: async () => (await import('./admin/codec.js')).addCodec,
  supervise: async () => (await import('./stack/supervise.js')).addSupervise,
  migrate: async () => (await import('./stack/migrate.js')).addMigrate,
};

/** Adds the command that is named, or all of them where none is: for the help, and to say what there is. */
export async function addCommands(program: Command, named: string | undefined): Promise<void> {
  const load = named && Object.hasOwn(commands, named) ? [commands[named]!] : [...new Set(Object.values(commands))];
  for (const add of await Promise.all(load.map((one) => one()))) add(program);
}
