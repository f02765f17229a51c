import { slidingWindow } from '../../domain/concurrency';
import type { OpenEnvironment } from '../contract/environment';
import type { TaskRecord } from '../server/environment-data';
import { EnvironmentError } from '../contract/environment-error';
import { playEpisode, type ChooseAction } from '../episode/play-episode';
import type { ImportedExpert } from './expert-file';
import type { MeasuredTrajectory } from './measure-experts';
import type { Conversation } from './read-conversations';

export type ImportSettings = {
  environment: string;
  /** Maps conversation ids to task ids; an id without an entry is itself the task id. */
  taskOf: ReadonlyMap<string, string>;
  /** Experts need a reward above this, in [0, 1]; ETO uses 0.7. */
  above: number;
  /** Concurrent episodes. */
  sessions: number;
  onProgress?: (done: number) => void;
};

export type ImportReport = {
  experts: (ImportedExpert & MeasuredTrajectory)[];
  refused: { id: string; reason: string }[];
  /** Answers left out because the file has the task's opening after them: no action comes before it. */
  leftOut: number;
};

type Refusal = { reason: string };
type Candidate = { taskId: string; expert: ImportedExpert & MeasuredTrajectory; leftOut: number };

/**
 * Finds the task of each conversation and plays the expert's actions there, so that rewards are measured and not claimed.
 * Of several experts for one task the best is kept, and the first of equally good ones.
 *
 * @param open if it is null, nothing is played, and the file's claims are the rewards
 * @throws EnvironmentError when the server remains unreachable or full, or rejects a request
 */
export async function importExperts(
  open: OpenEnvironment | null,
  tasks: readonly TaskRecord[],
  conversations: readonly Conversation[],
  settings: ImportSettings,
): Promise<ImportReport> {
  const taskById = new Map(tasks.map((task) => [task.task_id, task]));
  const results: (Candidate | Refusal)[] = [];
  let done = 0;
  await slidingWindow(settings.sessions, conversations.entries(), async ([index, conversation]) => {
    results[index] = await importOne(open, taskById, conversation, settings);
    settings.onProgress?.(++done);
  });
  return keepBest(conversations, results);
}

async function importOne(
  open: OpenEnvironment | null,
  taskById: ReadonlyMap<string, TaskRecord>,
  conversation: Conversation,
  { environment, taskOf, above }: ImportSettings,
): Promise<Candidate | Refusal> {
  const taskId = taskOf.get(conversation.id) ?? conversation.id;
  const task = taskById.get(taskId);
  if (!task) return { reason: unknownTask(taskId, taskById) };
  const played: Played | Refusal = open ? await replay(open, environment, task, conversation) : conversation;
  if ('reason' in played) return played;
  const { reward, actions, characters } = played;
  if (reward !== null && reward <= above)
    return { reason: `${open ? 'replayed' : 'claimed'} reward ${round(reward)} is not above ${above}` };
  const expert = {
    environment,
    task_id: taskId,
    actions,
    reward,
    claimed_reward: conversation.reward,
    replayed: open !== null,
    pattern: String(task.features['pattern'] ?? ''),
    turns: actions.length,
    characters,
  };
  return { taskId, expert, leftOut: played.precedes ? 1 : 0 };
}

function unknownTask(id: string, taskById: ReadonlyMap<string, TaskRecord>): string {
  const [example] = taskById.keys();
  const ids = example === undefined ? '' : `; an id has the form of ${example}`;
  return `no train task ${id} among the ${taskById.size} that these options give${ids}`;
}

type Played = Pick<Conversation, 'reward' | 'actions' | 'characters'> & { precedes?: boolean };

async function replay(
  open: OpenEnvironment,
  environment: string,
  task: TaskRecord,
  { actions, firstReply }: Conversation,
): Promise<Played | Refusal> {
  const session = await open(environment, { signal: new AbortController().signal });
  try {
    const request = { task: task.definition, seed: 0, episodeId: `import/${task.task_id}` };
    let precedes = false;
    const chooseAction: ChooseAction = (messages, turn) => {
      if (turn === 0) precedes = actions.length > 1 && messages.at(-1)?.content.trim() === firstReply;
      return Promise.resolve(actions[turn + (precedes ? 1 : 0)] ?? null);
    };
    const { opening, turns, reward, stopReason } = await playEpisode(session, request, chooseAction, actions.length);
    if (stopReason === 'turn-limit' && reward === 0)
      return { reason: `the episode is not over after its ${actions.length} actions, or earned nothing` };
    const observations = [...opening, ...turns.flatMap(({ observation }) => observation)];
    const played = turns.map(({ action }) => action);
    const texts = [...observations.map(({ content }) => content), ...played];
    return { reward, actions: played, precedes, characters: texts.reduce((sum, text) => sum + text.length, 0) };
  } catch (error) {
    if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
    return { reason: `the environment failed: ${error.message}` };
  } finally {
    session.close();
  }
}

function keepBest(conversations: readonly Conversation[], results: readonly (Candidate | Refusal)[]): ImportReport {
  const best = new Map<string, Candidate>();
  for (const result of results) {
    if ('reason' in result) continue;
    const previous = best.get(result.taskId);
    if (!previous || (result.expert.reward ?? 0) > (previous.expert.reward ?? 0)) best.set(result.taskId, result);
  }
  const report: ImportReport = { experts: [], refused: [], leftOut: 0 };
  for (const [index, result] of results.entries()) {
    const { id } = conversations[index]!;
    if ('reason' in result) report.refused.push({ id, reason: result.reason });
    else if (best.get(result.taskId) === result) {
      report.experts.push(result.expert);
      report.leftOut += result.leftOut;
    } else report.refused.push({ id, reason: 'another conversation of its task is kept' });
  }
  return report;
}

const round = (reward: number): string => String(Math.round(reward * 1000) / 1000);
