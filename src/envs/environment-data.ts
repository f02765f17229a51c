import { z } from 'zod';
import type { TaskSplit } from '../store/tasks';
import { EnvironmentError } from './environment-error';
import type { EnvironmentEndpoint } from './openenv-client';

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
  replay_deterministic: z.boolean(),
  dense_reward: z.boolean(),
  max_steps: z.number(),
});

/** A task as the environment describes it, with its gold actions. */
export type TaskRecord = z.infer<typeof taskRecord>;
export type Capabilities = z.infer<typeof capabilities>;
export type VariantRelation = 'neighbour' | 'rarer' | 'easier' | 'harder' | 'random';

export type TaskRequest = { split: TaskSplit; count: number; seed: number; options: Record<string, unknown> };
export type VariantRequest = {
  parents: Record<string, unknown>[];
  relation: VariantRelation;
  count: number;
  seed: number;
  options: Record<string, unknown>;
};

/** The token-protected data routes of our environment server: tasks with their gold, and variants of tasks. */
export const environmentData = (endpoint: EnvironmentEndpoint) => ({
  async names(): Promise<string[]> {
    const health = z.object({ environments: z.record(z.string(), z.unknown()) });
    return Object.keys(health.parse(await call(endpoint, '/health')).environments);
  },

  async capabilities(environment: string): Promise<Capabilities> {
    return capabilities.parse(await call(endpoint, `/envs/${environment}/data/capabilities`));
  },

  async tasks(environment: string, request: TaskRequest): Promise<TaskRecord[]> {
    return listOf(await call(endpoint, `/envs/${environment}/data/tasks`, request));
  },

  async variants(environment: string, request: VariantRequest): Promise<TaskRecord[]> {
    return listOf(await call(endpoint, `/envs/${environment}/data/variants`, request));
  },
});

export type EnvironmentData = ReturnType<typeof environmentData>;

const listOf = (body: unknown): TaskRecord[] => z.object({ tasks: z.array(taskRecord) }).parse(body).tasks;

async function call({ url, token }: EnvironmentEndpoint, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(120_000),
  }).catch((cause: unknown) => {
    throw new EnvironmentError(
      'unreachable',
      `no environment server answers at ${url}; start one with \`coevolve up\``,
      {
        cause,
      },
    );
  });
  if (response.ok) return response.json();
  const kind = response.status >= 500 ? 'fault' : 'refused';
  throw new EnvironmentError(kind, `${path} answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
}
