import { z } from 'zod';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import type { ActionForm } from '../../domain/rollout/action-form';
import { listOf } from '../../input/list-of';
import { callForTasks, callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';
import { serverHealth, type ServerHealth } from './health';

/** Part of keys: Postgres indexes at most 2,700 bytes. */
const id = z.string().min(1).max(500);

const taskRecord = z.object({
  task_id: id,
  goal: z.string(),
  definition: z.record(z.string(), z.unknown()),
  features: z.record(z.string(), z.union([z.string(), z.number()])),
  content_key: id,
  reference_actions: listOf(z.string(), 10_000),
  parent: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .nullish(),
});

const capabilities = z.object({
  variants: z.boolean(),
  /** Grader of tasks made from a query and actions: `judge` always, or only where no checker can be made. */
  compose: z.enum(['checker', 'judge', 'none']),
  /** The end state of a session is the checker of such tasks. */
  states: z.boolean(),
  replay: z.enum(['observations', 'score', 'none']),
  dense_reward: z.boolean(),
  max_turns: z
    .int()
    .min(1)
    .max(2 ** 31 - 1),
  /** Actions of the shortest task worth writing. */
  min_actions: z.int().min(1).max(64).default(1),
  gold: z.boolean(),
  splits: listOf(z.string(), 100).default(['train', 'held-out']),
  constant_answers: listOf(listOf(z.string(), 100), 100).default([]),
  /** Of the tasks' data; null: the licence of the environment's package. */
  license: z.string().max(1_000).nullable().default(null),
  /** Values for a spec that leaves them out; null: the general defaults. */
  spec_defaults: z
    .object({
      train_tasks: z.int().min(1).max(20_000).nullable().default(null),
      held_out_tasks: z.int().min(1).max(5_000).nullable().default(null),
      max_positions: z.int().min(64).max(131_072).nullable().default(null),
      max_tokens: z.int().min(1).max(4096).nullable().default(null),
      /** By path, such as `training.sft.epochs`. */
      settings: z.record(z.string(), z.unknown()).default({}),
    })
    .prefault({}),
});

const composition = z.union([
  z.object({ task: taskRecord.extend({ grader: z.enum(['environment', 'judge']) }) }),
  z.object({
    refused: z.object({
      reason: z.enum([
        ...(['not-executable', 'empty-result', 'ambiguous-result', 'bad-format'] as const),
        ...(['no-effect', 'no-goal', 'no-answer'] as const),
      ]),
      detail: z.string(),
    }),
  }),
]);

/** Task of an environment with its reference actions. */
export type TaskRecord = z.infer<typeof taskRecord>;
export type Capabilities = z.infer<typeof capabilities>;
/** Task composed of a query and actions with its grader, or the reason for a rejection. */
export type Composition = z.infer<typeof composition>;
export type VariantRelation = 'neighbour' | 'easier' | 'harder' | 'random';

export type TaskRequest = {
  split: TaskSplit;
  count: number;
  seed: number;
  options: Record<string, unknown>;
  /** Form of the reference actions; default: plain. */
  form?: ActionForm;
};
export type VariantRequest = {
  parents: Record<string, unknown>[];
  relation: VariantRelation;
  count: number;
  seed: number;
  options: Record<string, unknown>;
  form?: ActionForm;
};

export type ComposeRequest = {
  /** Definition of the task in whose environment the actions are executed. */
  parent: Record<string, unknown>;
  query: string;
  actions: string[];
  options: Record<string, unknown>;
  form?: ActionForm;
};

/** Data routes of our environment server, protected by a token: tasks with reference actions, variants and composition. */
export const environmentData = (endpoint: EnvironmentEndpoint, health: ServerHealth = serverHealth(endpoint)) => ({
  async names(): Promise<string[]> {
    return Object.keys((await health.read()).environments);
  },

  /** Returns the names that our server hosts, or will host after an installation or the correction of a file. */
  async knownNames(): Promise<string[]> {
    const { environments, unavailable } = await health.read();
    return [...Object.keys(environments), ...Object.keys(unavailable)];
  },

  /** Concurrent sessions of an environment, cached for 5 seconds; null if unknown. */
  async capacity(environment: string): Promise<number | null> {
    return (await health.find(environment))?.capacity ?? null;
  },

  async capabilities(environment: string): Promise<Capabilities> {
    return callServer(endpoint, `/envs/${environment}/data/capabilities`, capabilities);
  },

  async tasks(environment: string, request: TaskRequest): Promise<TaskRecord[]> {
    return callForTasks(endpoint, `/envs/${environment}/data/tasks`, taskRecord, request);
  },

  async variants(environment: string, request: VariantRequest): Promise<TaskRecord[]> {
    return callForTasks(endpoint, `/envs/${environment}/data/variants`, taskRecord, request);
  },

  /** Executes the actions in a new instance of the parent's environment and plays the task once. */
  async compose(environment: string, request: ComposeRequest): Promise<Composition> {
    return callServer(endpoint, `/envs/${environment}/data/compose`, composition, request);
  },
});

export type EnvironmentData = ReturnType<typeof environmentData>;
