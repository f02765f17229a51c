import { z } from 'zod';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import type { ActionForm } from '../../domain/rollout/action-form';
import { callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';
import { serverHealth, type ServerHealth } from './health';

const taskRecord = z.object({
  task_id: z.string(),
  goal: z.string(),
  definition: z.record(z.string(), z.unknown()),
  features: z.record(z.string(), z.union([z.string(), z.number()])),
  content_key: z.string(),
  reference_actions: z.array(z.string()),
  parent: z.number().nullish(),
});

const capabilities = z.object({
  variants: z.boolean(),
  compose: z.boolean(),
  replay: z.enum(['observations', 'score', 'none']),
  dense_reward: z.boolean(),
  max_turns: z.number(),
  gold: z.boolean(),
  splits: z.array(z.string()).default(['train', 'held-out']),
});

const composition = z.union([
  z.object({ task: taskRecord.extend({ grader: z.enum(['environment', 'judge']) }) }),
  z.object({
    refused: z.object({ reason: z.enum(['not-executable', 'empty-result', 'bad-format']), detail: z.string() }),
  }),
]);

/** A task as the environment describes it, with its gold actions. */
export type TaskRecord = z.infer<typeof taskRecord>;
export type Capabilities = z.infer<typeof capabilities>;
/** A task made of a request and actions, and who can grade attempts at it; or why they make none. */
export type Composition = z.infer<typeof composition>;
export type VariantRelation = 'neighbour' | 'rarer' | 'easier' | 'harder' | 'random';

export type TaskRequest = {
  split: TaskSplit;
  count: number;
  seed: number;
  options: Record<string, unknown>;
  /** Of the reference actions; plain when left out. */
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

/** The token-protected data routes of our environment server: tasks with their gold, variants of tasks, and new ones. */
export const environmentData = (endpoint: EnvironmentEndpoint, health: ServerHealth = serverHealth(endpoint)) => ({
  async names(): Promise<string[]> {
    return Object.keys((await health.read()).environments);
  },

  /** Sessions that an environment serves at once; null where nobody knows. Remembered for some seconds. */
  async capacity(environment: string): Promise<number | null> {
    return (await health.find(environment))?.capacity ?? null;
  },

  async capabilities(environment: string): Promise<Capabilities> {
    return callServer(endpoint, `/envs/${environment}/data/capabilities`, capabilities);
  },

  async tasks(environment: string, request: TaskRequest): Promise<TaskRecord[]> {
    return (await callServer(endpoint, `/envs/${environment}/data/tasks`, taskList, request)).tasks;
  },

  async variants(environment: string, request: VariantRequest): Promise<TaskRecord[]> {
    return (await callServer(endpoint, `/envs/${environment}/data/variants`, taskList, request)).tasks;
  },

  /** The actions are executed in a fresh instance of the parent's environment, and the task is played once. */
  async compose(environment: string, request: ComposeRequest): Promise<Composition> {
    return callServer(endpoint, `/envs/${environment}/data/compose`, composition, request);
  },
});

export type EnvironmentData = ReturnType<typeof environmentData>;

const taskList = z.object({ tasks: z.array(taskRecord) });
