import { slidingWindow } from '../../domain/base/concurrency';
import type { OpenEnvironment } from '../base/environment';
import type { TaskRecord } from '../server/environment-data';
import { EnvironmentError } from '../base/environment-error';
import { playEpisode } from '../episode/play-episode';
import type { ImportedExpert } from './expert-file';
import type { MeasuredTrajectory } from './measure-experts';
import type { Conversation } from './read-conversations';

export type ImportSettings = {
  environment: string;
  /** Conversation id -> task id; an id that is not in it is taken for the task's own. */
  taskOf: ReadonlyMap<string, string>;
  /** An expert must earn more than this, in [0, 1]; ETO keeps those above 0.7. */
  above: number;
  /** Episodes at once. */
  sessions: number;
  /** Told of every conversation that was judged. */
  onProgress?: (done: number) => void;
};

export type ImportReport = {
  experts: (ImportedExpert & MeasuredTrajectory)[];
  refused: { id: string; reason: string }[];
};

/** What came of one conversation. */
type Judged =
  { conversation: Conversation; task: TaskRecord; expert: ImportedExpert & MeasuredTrajectory } | { reason: string };

/**
 * Finds each conversation's task and plays the expert's turns there, so that no reward is taken on trust. One expert is
 * kept for a task: the best, then the first.
 *
 * @param open null: nothing is played, and the rewards are the file's
 * @throws EnvironmentError when the server is away, full or refuses what is asked
 */
export async function importExperts(
  open: OpenEnvironment | null,
  tasks: readonly TaskRecord[],
  conversations: readonly Conversation[],
  settings: ImportSettings,
): Promise<ImportReport> {
  const known = new Map(tasks.map((task) => [task.task_id, task]));
  const judged: Judged[] = [];
  let done = 0;
  await slidingWindow(settings.sessions, conversations.entries(), async ([index, conversation]) => {
    judged[index] = await judge(open, known, conversation, settings);
    settings.onProgress?.(++done);
  });
  return bestOfEachTask(conversations, judged);
}

async function judge(
  open: OpenEnvironment | null,
  known: ReadonlyMap<string, TaskRecord>,
  conversation: Conversation,
  { environment, taskOf, above }: ImportSettings,
): Promise<Judged> {
  const id = taskOf.get(conversation.id) ?? conversation.id;
  const task = known.get(id);
  if (!task) return { reason: `no train task ${id} among the ${known.size} that these options give` };
  const played = open ? await replay(open, environment, task, conversation) : claimed(conversation);
  if ('reason' in played) return played;
  const { reward, actions, characters } = played;
  if (reward !== null && reward <= above)
    return { reason: `${open ? 'replayed' : 'claimed'} reward ${round(reward)} is not above ${above}` };
  const expert = {
    ...{ environment, task_id: id, actions, reward, claimed_reward: conversation.reward, replayed: open !== null },
    ...{ pattern: String(task.features['pattern'] ?? ''), turns: actions.length, characters },
  };
  return { conversation, task, expert };
}

type Played = { reward: number | null; actions: string[]; characters: number };

const claimed = ({ reward, actions, characters }: Conversation): Played => ({ reward, actions, characters });

async function replay(
  open: OpenEnvironment,
  environment: string,
  task: TaskRecord,
  { actions }: Conversation,
): Promise<Played | { reason: string }> {
  const session = await open(environment, { signal: new AbortController().signal });
  try {
    const request = { task: task.definition, seed: 0, episodeId: `import/${task.task_id}` };
    const player = (_: unknown, step: number): Promise<string | null> => Promise.resolve(actions[step] ?? null);
    const { opening, turns, reward, stopReason } = await playEpisode(session, request, player, actions.length);
    if (stopReason === 'turn-limit' && reward === 0)
      return { reason: `the episode is not over after its ${actions.length} actions, or earned nothing` };
    const said = [...opening, ...turns.flatMap(({ observation }) => observation)].map(({ content }) => content);
    const acted = turns.map(({ action }) => action);
    return { reward, actions: acted, characters: [...said, ...acted].reduce((sum, text) => sum + text.length, 0) };
  } catch (error) {
    if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
    return { reason: `the environment failed: ${error.message}` };
  } finally {
    session.close();
  }
}

function bestOfEachTask(conversations: readonly Conversation[], judged: readonly Judged[]): ImportReport {
  const report: ImportReport = { experts: [], refused: [] };
  const best = new Map<string, number>();
  for (const [place, one] of judged.entries()) {
    if ('reason' in one) continue;
    const rival = best.get(one.task.task_id);
    const better = rival === undefined || (one.expert.reward ?? 0) > (rewardAt(judged, rival) ?? 0);
    if (better) best.set(one.task.task_id, place);
  }
  for (const [place, one] of judged.entries()) {
    const { id } = conversations[place]!;
    if ('reason' in one) report.refused.push({ id, reason: one.reason });
    else if (best.get(one.task.task_id) === place) report.experts.push(one.expert);
    else report.refused.push({ id, reason: 'another conversation of its task is kept' });
  }
  return report;
}

function rewardAt(judged: readonly Judged[], place: number): number | null {
  const one = judged[place]!;
  return 'reason' in one ? null : one.expert.reward;
}

const round = (reward: number): string => String(Math.round(reward * 1000) / 1000);
