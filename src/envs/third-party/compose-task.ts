import { sha256 } from '../../files/sha256';
import { canonicalJson } from '../../domain/canonical-json';
import { formatAction } from '../../domain/rollout/action-form';
import type { ComposeRequest, Composition } from '../server/environment-data';
import { thirdPartyClient, type ThirdPartySession } from './client';
import { finishAction, hasAnswer, isFinish } from './composed-task';
import type { ThirdPartyServer } from './read-servers';
import { stateHash } from './world-state';

/** Of one session with all actions. */
const timeoutMs = 5 * 60_000;

/**
 * Makes a task of a query and actions in the world of a parent task. The actions are executed in new sessions. The world's
 * state after them is the checker if the server's settings name it, the actions change it, a second session repeats it,
 * and no answer belongs to the result; otherwise the judge grades attempts. The server's own reward never counts: it is about the parent's goal.
 */
export async function composeTask(server: ThirdPartyServer, request: ComposeRequest): Promise<Composition> {
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
    const refusal = await execute(session, actions);
    if (refusal) return refusal;
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
