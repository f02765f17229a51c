import { sha256 } from '../../files/sha256';
import { createRandom } from '../../domain/random/seeded-random';
import type { EnvironmentData, TaskRecord, TaskRequest, ComposeRequest, Composition } from '../server/environment-data';
import { EnvironmentError } from '../contract/environment-error';
import type { ThirdPartyServer } from './read-servers';
import { listTasks, type ListedTask } from './list-tasks';
import { canonicalJson } from '../../domain/canonical-json';
import { formatAction } from '../../domain/rollout/action-form';
import { thirdPartyClient, type ThirdPartySession } from './client';
import { finishAction, hasAnswer, isFinish } from './composed-task';
import { stateHash } from './world-state';

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
      spec_defaults: { train_tasks: null, held_out_tasks: null, max_positions: null, max_tokens: null, settings: {} },
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

/** Of one session with all actions. */
const timeoutMs = 5 * 60_000;

/**
 * Makes a task of a query and actions in the world of a parent task. The actions are executed in new sessions. The world's
 * state after them is the checker if the server's settings name it, the actions change it, a second session repeats it,
 * and no answer belongs to the result; otherwise the judge grades attempts. The server's own reward never counts: it is about the parent's goal.
 */
async function composeTask(server: ThirdPartyServer, request: ComposeRequest): Promise<Composition> {
  const actions = request.actions.filter((action) => !isFinish(action));
  const finish = request.actions.findLast(isFinish) ?? finishAction;
  const { query } = request;
  if (query.trim() === '' || actions.length === 0) return refused('bad-format', 'the query or the actions are empty');
  if (actions.length >= server.maxTurns)
    return refused('bad-format', `${actions.length} actions and finish[]; the maximum is ${server.maxTurns} actions`);

  const world = worldOf(request.parent);
  const play = (): Promise<Played> => playOnce(server, { ...world, composed: { query, endState: null } }, actions);
  const first = await play();
  if ('refused' in first) return first;
  const changed = first.end !== first.start && !hasAnswer(finish);
  const second = changed ? await play() : null;
  const endState = second && !('refused' in second) && second.end === first.end ? first.end : null;

  const key = sha256(canonicalJson([server.name, 'composed', world, endState ?? actions]));
  return {
    task: {
      task_id: `composed/${key.slice(0, 12)}`,
      goal: query,
      content_key: key,
      definition: { ...world, composed: { query, endState } },
      features: { pattern: 'composed', source: 'composed', actions: actions.length },
      reference_actions: [...actions, finish].map((action) => formatAction(action, request.form ?? 'plain')),
      grader: endState === null ? 'judge' : 'environment',
    },
  };
}

/**
 * Returns the definition of the parent's world without the parent's query. A listed task keeps the attempt's seed, which
 * may change its world, so a composed task has a seed of its own.
 */
function worldOf(parent: Record<string, unknown>): { reset: Record<string, unknown> } {
  return { reset: { seed: 0, ...(parent['reset'] as Record<string, unknown> | undefined) } };
}

type Refused = Extract<Composition, { refused: unknown }>;
type Played = { start: string | null; end: string | null } | Refused;

async function playOnce(
  server: ThirdPartyServer,
  task: Record<string, unknown>,
  actions: readonly string[],
): Promise<Played> {
  const session = await thirdPartyClient(server)(server.name, { signal: AbortSignal.timeout(timeoutMs) });
  try {
    await session.reset({ task, seed: 0, episodeId: 'compose' });
    const start = await session.worldState();
    const failed = await execute(session, actions);
    if (failed) return failed;
    const end = await session.worldState();
    return { start: start && stateHash(start), end: end && stateHash(end) };
  } finally {
    session.close();
  }
}

/** Returns the refusal of actions that cannot be played to their end. */
async function execute(session: ThirdPartySession, actions: readonly string[]): Promise<Refused | undefined> {
  for (const [index, action] of actions.entries()) {
    const { done } = await session.step(action);
    if (done && index + 1 < actions.length)
      return refused('not-executable', `the session ends after action ${index + 1} of ${actions.length}`);
  }
  return undefined;
}

const refused = (reason: Refused['refused']['reason'], detail: string): Refused => ({ refused: { reason, detail } });
