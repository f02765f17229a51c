import { sha256 } from '../../files/sha256';
import { createRandom } from '../../domain/random/seeded-random';
import type { EnvironmentData, TaskRecord, TaskRequest } from '../server/environment-data';
import { EnvironmentError } from '../contract/environment-error';
import type { ThirdPartyServer } from './read-servers';
import { composeTask } from './compose-task';
import { listTasks, type ListedTask } from './list-tasks';

/**
 * Data of a third-party server: tasks without reference actions. They are the tasks of its train and test splits, or
 * seeds if it lists none. Train and held-out seeds never overlap.
 */
export const thirdPartyData = (server: ThirdPartyServer): EnvironmentData => ({
  names: () => Promise.resolve([server.name]),
  capacity: () => Promise.resolve(server.sessions),

  capabilities: () =>
    Promise.resolve({
      variants: false,
      gold: false,
      dense_reward: true,
      ...(server.state ? { compose: 'checker', states: true } : { compose: 'judge', states: false }),
      replay: server.replay,
      max_turns: server.maxTurns,
      splits: ['train', 'held-out'],
      constant_answers: [],
    }),

  async tasks(_name, request) {
    if (Object.keys(request.options).length > 0)
      throw refusal(server, `environment.options: found ${Object.keys(request.options).join(', ')}, expected none`);
    const listed = await listTasks(server, request.split);
    return listed ? drawn(listed, request).map((task) => listedRecord(server, request, task)) : seeds(server, request);
  },

  variants: () => Promise.reject(refusal(server, 'it cannot generate variants')),
  compose: (_name, request) => composeTask(server, request),
});

const refusal = ({ name }: ThirdPartyServer, why: string): EnvironmentError =>
  new EnvironmentError(
    'rejected',
    `${name} is a third-party server: ${why}; add an llm section, or choose a recipe without synthesis, such as grpo or rft`,
  );

/** First seed of held-out tasks, above all seeds of train tasks: a larger number of tasks later causes no overlap. */
const firstHeldOutSeed = 1_000_000;

function seeds(server: ThirdPartyServer, request: TaskRequest): TaskRecord[] {
  const [first, size] = request.split === 'train' ? [0, server.tasks] : [firstHeldOutSeed, server.heldOutTasks];
  const all = Array.from({ length: size }, (_, n) => first + n);
  return drawn(all, request).map((seed) => ({
    task_id: `seed-${seed}`,
    goal: `seed ${seed}`,
    definition: { reset: { seed } },
    features: {},
    content_key: keyOf([server.name, 'seed', seed]),
    reference_actions: [],
  }));
}

function listedRecord(
  server: ThirdPartyServer,
  { split }: TaskRequest,
  { id, goal, features, reset }: ListedTask,
): TaskRecord {
  return {
    task_id: `${split}/${id}`,
    goal,
    features,
    definition: { reset },
    reference_actions: [],
    content_key: keyOf([server.name, 'listed', reset]),
  };
}

/** Samples `count` items with the seed and keeps their order. */
function drawn<Item>(all: readonly Item[], { count, seed }: TaskRequest): Item[] {
  if (count >= all.length) return [...all];
  const indices = all.map((_, index) => index);
  const chosen = createRandom(seed).sample(indices, count);
  return chosen.sort((a, b) => a - b).map((index) => all[index]!);
}

const keyOf = (parts: unknown): string => sha256(JSON.stringify(parts));
