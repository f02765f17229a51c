import type { Command } from 'commander';
import { campaignCommands } from '../domain/campaign/operator-commands';

type AddCommand = (program: Command) => void;

const operatorCommands = async (): Promise<AddCommand> => (await import('./campaign/operate.js')).addOperatorCommands;

/**
 * Loaders of all commands by name, in the order of the help. A call loads only its own command: this halves the start
 * time of workers, which restart more often than any other command runs.
 */
const commands: Record<string, () => Promise<AddCommand>> = {
  quickstart: async () => (await import('./stack/quickstart.js')).addQuickstart,
  setup: async () => (await import('./stack/setup.js')).addSetup,
  up: async () => (await import('./stack/up.js')).addUp,
  down: async () => (await import('./stack/down.js')).addDown,
  doctor: async () => (await import('./stack/doctor.js')).addDoctor,
  init: async () => (await import('./campaign/init.js')).addInit,
  start: async () => (await import('./campaign/start.js')).addStart,
  list: async () => (await import('./inspect/list.js')).addList,
  status: async () => (await import('./inspect/status.js')).addStatus,
  logs: async () => (await import('./inspect/logs.js')).addLogs,
  ...Object.fromEntries(Object.keys(campaignCommands).map((name) => [name, operatorCommands])),
  events: async () => (await import('./inspect/events.js')).addEvents,
  tasks: async () => (await import('./inspect/tasks.js')).addTasks,
  attempts: async () => (await import('./inspect/attempts.js')).addAttempts,
  trajectory: async () => (await import('./inspect/trajectory.js')).addTrajectory,
  pairs: async () => (await import('./inspect/pairs.js')).addPairs,
  lineage: async () => (await import('./inspect/lineage.js')).addLineage,
  fork: async () => (await import('./campaign/fork.js')).addFork,
  backup: async () => (await import('./admin/backup.js')).addBackup,
  restore: async () => (await import('./admin/restore.js')).addRestore,
  delete: async () => (await import('./admin/delete.js')).addDelete,
  gc: async () => (await import('./admin/gc.js')).addGc,
  du: async () => (await import('./inspect/du.js')).addDu,
  reconcile: async () => (await import('./campaign/reconcile.js')).addReconcile,
  hash: async () => (await import('./inspect/hash.js')).addHash,
  evaluate: async () => (await import('./campaign/evaluate.js')).addEvaluate,
  compare: async () => (await import('./inspect/compare.js')).addCompare,
  experiment: async () => (await import('./experiment/group.js')).addExperiment,
  report: async () => (await import('./inspect/report.js')).addReport,
  export: async () => (await import('./data/export.js')).addExport,
  mirror: async () => (await import('./data/mirror.js')).addMirror,
  experts: async () => (await import('./data/experts.js')).addExperts,
  budget: async () => (await import('./campaign/budget.js')).addBudget,
  calls: async () => (await import('./inspect/calls.js')).addCalls,
  approve: async () => (await import('./campaign/approve.js')).addApprove,
  prompts: async () => (await import('./inspect/prompts.js')).addPrompts,
  schema: async () => (await import('./inspect/schema.js')).addSchema,
  model: async () => (await import('./data/model.js')).addModel,
  env: async () => (await import('./data/env.js')).addEnv,
  worker: async () => (await import('./stack/worker.js')).addWorker,
  serve: async () => (await import('./stack/serve.js')).addServe,
  codec: async () => (await import('./admin/codec.js')).addCodec,
  completion: async () => (await import('./stack/completion.js')).addCompletion,
  supervise: async () => (await import('./stack/supervise.js')).addSupervise,
  migrate: async () => (await import('./stack/migrate.js')).addMigrate,
};

/** Adds the named command; all commands when there is none of this name, for the help, the error message and the completion. */
export async function addCommands(program: Command, name: string | undefined): Promise<void> {
  const loaders =
    name && name !== 'completion' && Object.hasOwn(commands, name)
      ? [commands[name]!]
      : [...new Set(Object.values(commands))];
  for (const add of await Promise.all(loaders.map((load) => load()))) add(program);
}
