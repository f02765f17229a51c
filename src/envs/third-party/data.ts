import { sha256 } from '../../files/sha256';
import { createRandom } from '../../domain/random/seeded-random';
import type { EnvironmentData, TaskRecord, TaskRequest, ComposeRequest, Composition } from '../server/environment-data';
import { EnvironmentError } from '../contract/environment-error';
import type { ThirdPartyServer } from './read-servers';
import { listTasks, type ListedTask } from './list-tasks';
import { canonicalJson } from '../../domain/canonical-json';
import { formatAction } from '../../domain/rollout/action-form';
import { finishedAnswer, isFinish } from '../../domain/rollout/finish';
import { asks, isComparable, saysNothing } from '../../domain/tasks/answers';
import { isNoAction, thirdPartyClient, type ThirdPartySession } from './client';
import type { ComposedGoal } from './composed-task';
import { changedFacts, type WorldState } from './world-state';

/**
 * Data of a third-party server: tasks without reference actions. They are the tasks of its train and test splits, or
 * seeds if it lists none. Train and held-out seeds never overlap.
 */
export const thirdPartyData = (server: ThirdPartyServer): EnvironmentData => ({
  names: () => Promise.resolve([server.name]),
  knownNames: () => Promise.resolve([server.name]),
  capacity: () => Promise.resolve(server.sessions),

  capabilities: () =>
    Promise.resolve({
      variants: false,
      gold: false,
      dense_reward: true,
      ...(server.state ? { compose: 'checker', states: true } : { compose: 'judge', states: false }),
      replay: server.replay,
      max_turns: server.maxTurns,
      min_actions: 1,
      splits: ['train', 'held-out'],
      constant_answers: [],
      license: null,
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
 * Makes a task of a query and actions in the world of a parent task. The actions are executed in new sessions. Where the
 * server's settings name its state, the values that they change in both sessions and the answer check attempts; otherwise
 * the judge grades. The server's own reward never counts: it is about the parent's goal.
 */
async function composeTask(server: ThirdPartyServer, request: ComposeRequest): Promise<Composition> {
  const actions = request.actions.filter((action) => !isFinish(action));
  const given = request.actions.map(finishedAnswer).findLast((answer) => answer !== undefined) ?? '';
  const answer = saysNothing(given) ? null : given;
  const { query } = request;
  if (query.trim() === '' || actions.length === 0) return refused('bad-format', 'the query or the actions are empty');
  if (actions.length >= server.maxTurns)
    return refused('bad-format', `${actions.length} actions and finish[]; the maximum is ${server.maxTurns} actions`);
  if (asks(query) && answer === null)
    return refused('no-answer', 'the request asks for an answer, and no action gives one by finish[<answer>]');

  const world = worldOf(request.parent);
  const task = { ...world, composed: { query, endState: null } };
  const first = await playOnce(server, task, actions);
  if ('refused' in first) return first;
  const goal = await goalOf(query, answer, first, () => playOnce(server, task, actions));
  if (goal && 'refused' in goal) return goal;

  const identity = goal ? [goal, goal.answer === null ? null : query] : actions;
  const key = sha256(canonicalJson([server.name, 'composed', world, identity]));
  return {
    task: {
      task_id: `composed/${key.slice(0, 12)}`,
      goal: query,
      content_key: key,
      definition: { ...world, composed: { query, endState: null, goal } },
      features: { pattern: 'composed', source: 'composed', actions: actions.length },
      reference_actions: [...actions, `finish[${answer ?? ''}]`].map((action) =>
        formatAction(action, request.form ?? 'plain'),
      ),
      grader: goal === null ? 'judge' : 'environment',
    },
  };
}

/** Returns what checks attempts; null if the server states nothing, so that the judge grades. A question is checked by its answer. */
async function goalOf(
  query: string,
  answer: string | null,
  { start, end }: PlayedActions,
  playAgain: () => Promise<Played>,
): Promise<ComposedGoal | Refused | null> {
  if (!start || !end) return null;
  const again = asks(query) ? null : await playAgain();
  if (again && 'refused' in again) return again;
  const facts = again?.end ? changedFacts(start, end, again.end) : [];
  if (answer !== null && facts.length > 0)
    return refused('no-answer', `the request asks for no answer, and the actions give "${answer}"`);
  if (answer !== null && !isComparable(answer)) return refused('no-answer', 'the answer is too long to be compared');
  if (answer === null && facts.length === 0)
    return refused('no-goal', 'the actions leave no change of the state that a second session repeats');
  return { facts, answer };
}

/**
 * Returns the definition of the parent's world without the parent's query. A listed task keeps the attempt's seed, which
 * may change its world, so a composed task has a seed of its own.
 */
function worldOf(parent: Record<string, unknown>): { reset: Record<string, unknown> } {
  return { reset: { seed: 0, ...(parent['reset'] as Record<string, unknown> | undefined) } };
}

type Refused = Extract<Composition, { refused: unknown }>;
type PlayedActions = { start: WorldState | null; end: WorldState | null };
type Played = PlayedActions | Refused;

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
    return { start, end };
  } finally {
    session.close();
  }
}

/** Returns the refusal of actions that cannot be played to their end. */
async function execute(session: ThirdPartySession, actions: readonly string[]): Promise<Refused | undefined> {
  for (const [index, action] of actions.entries()) {
    const observed = await session.step(action);
    if (isNoAction(observed))
      return refused(
        'no-effect',
        `action ${index + 1} of ${actions.length} failed: ${observed.messages.at(-1)!.content}`,
      );
    if (observed.done && index + 1 < actions.length)
      return refused('not-executable', `the session ends after action ${index + 1} of ${actions.length}`);
  }
  return undefined;
}

const refused = (reason: Refused['refused']['reason'], detail: string): Refused => ({ refused: { reason, detail } });
