import { DomainError } from '../../domain/base/errors';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { Capabilities, TaskRecord } from '../server/environment-data';
import type { Environments } from '../environments';
import { retryWhenUnavailable } from '../episode/retry-when-unavailable';
import { measureLeak, type Leak } from './leaked-sessions';
import { playPass, type PassSettings, type PlannedEpisode, type PlayedEpisode } from './play-episodes';
import { corruptedEpisodes, nonsenseEpisodes } from './corrupted-episodes';

export type CheckSettings = {
  environment: string;
  /** Most tasks of each split. */
  tasks: number;
  splits: readonly ('train' | 'held-out')[];
  /** Sessions at once; no more than the environment serves. */
  sessions: number;
  /** Episodes that are cut off. */
  kills: number;
  seed: number;
  options: Record<string, unknown>;
};

export type Count = { tried: number; good: number; examples: string[] };

export type CheckReport = {
  environment: string;
  tasks: number;
  /** Gold actions that score 1; null where the environment has none. */
  gold: Count | null;
  /** Nonsense that scores below 1, and another task's gold, or gold cut short, that does. */
  wrong: { nonsense: Count; broken: Count };
  /** Played twice in turn, to the same end; as much as the environment promises. */
  deterministic: Count & { promise: Capabilities['replay'] };
  leaked: Leak;
  /** Played at once, to the same end as one after the other. */
  concurrency: Count & { sessions: number };
  passed: boolean;
};

const playedTwice = 100; // tasks: what is not repeatable shows early

/**
 * Puts an environment to the test through its server, as a worker would see it: gold and wrong episodes, whether the same
 * actions come to the same, one at a time and many at once, and whether anything is left of clients that died.
 *
 * @throws EnvironmentError when the server is away or refuses what is asked; Error when there are no tasks
 */
export async function checkEnvironment(
  { open, data, health }: Pick<Environments, 'open' | 'data' | 'health'>,
  settings: CheckSettings,
  onProgress: (what: string, done: number, all: number) => void,
): Promise<CheckReport> {
  const { environment, seed } = settings;
  const { gold: hasGold, replay } = await data.capabilities(environment);
  const tasks = await drawTasks(data, settings);
  const sessions = Math.min(settings.sessions, (await data.capacity(environment)) ?? settings.sessions);
  const play = (what: string, plays: readonly PlannedEpisode[], at: number): Promise<PlayedEpisode[]> =>
    playPass(open, plays, passOf(what, plays.length, { environment, seed, sessions: at }, onProgress));

  const golden = hasGold ? tasks.map((task) => ({ task, actions: task.reference_actions })) : nonsenseEpisodes(tasks);
  const alone = await play('one at a time', golden, 1);
  const again = await play('once more', golden.slice(0, playedTwice), 1);
  const together = await play(`${sessions} at once`, golden, sessions);
  const nonsense = await play('nonsense', nonsenseEpisodes(tasks), sessions);
  const broken = await play('mistakes', hasGold ? corruptedEpisodes(tasks, seed) : [], sessions);
  const victims = Array.from({ length: settings.kills }, (_, n) => golden[n % golden.length]!);
  const sessionsOf = async (): Promise<number | null> =>
    (await health.read()).environments[environment]?.sessions ?? null;

  return judged({
    environment,
    tasks: tasks.length,
    gold: hasGold ? countOf(alone, solved) : null,
    wrong: { nonsense: countOf(nonsense, unsolved), broken: countOf(broken, unsolved) },
    deterministic: { promise: replay, ...countOf(again, sameAs(alone, replay)) },
    concurrency: { sessions, ...countOf(together, sameAs(alone, replay)) },
    leaked: await measureLeak(open, victims, { environment, seed, sessions }, sessionsOf),
  });
}

async function drawTasks(data: Environments['data'], settings: CheckSettings): Promise<TaskRecord[]> {
  const { environment, tasks: count, seed, options, splits } = settings;
  const drawn: TaskRecord[] = [];
  const { signal } = new AbortController();
  for (const split of splits)
    drawn.push(...(await retryWhenUnavailable(signal, () => data.tasks(environment, { split, count, seed, options }))));
  if (drawn.length === 0) throw new DomainError('NoTasks', `${environment} has no tasks for these options`);
  return drawn;
}

function passOf(
  what: string,
  all: number,
  pass: Omit<PassSettings, 'onPlayed'>,
  onProgress: (what: string, done: number, all: number) => void,
): PassSettings {
  let done = 0;
  return { ...pass, onPlayed: () => onProgress(what, ++done, all) };
}

type Verdict = (played: PlayedEpisode, place: number) => boolean;

const solved: Verdict = ({ reward }) => reward !== null && isSuccess(reward);
const unsolved: Verdict = ({ reward }) => reward !== null && !isSuccess(reward);

/** Where only scores are promised, or nothing is, what an episode said may differ and its reward may not. */
const sameAs =
  (reference: readonly PlayedEpisode[], replay: Capabilities['replay']): Verdict =>
  ({ seen, reward }, place) =>
    replay === 'observations' ? seen === reference[place]!.seen : reward === reference[place]!.reward;

const shown = 5;

function countOf(played: readonly PlayedEpisode[], isGood: Verdict): Count {
  const bad = played.filter((one, place) => !isGood(one, place));
  return {
    tried: played.length,
    good: played.length - bad.length,
    examples: bad.slice(0, shown).map(({ taskId, reward, fault }) => `${taskId}: ${fault ?? `reward ${reward}`}`),
  };
}

/** Wrong gold may be right by chance; but an environment that takes most of it checks little. */
function judged(report: Omit<CheckReport, 'passed'>): CheckReport {
  const { gold, wrong, deterministic, concurrency, leaked } = report;
  const whole = [wrong.nonsense, concurrency, ...(gold ? [gold] : []), ...promised(deterministic)];
  const passed =
    whole.every(({ tried, good }) => good === tried) &&
    wrong.broken.good * 2 >= wrong.broken.tried &&
    (leaked.sessions ?? 0) === 0;
  return { ...report, passed };
}

const promised = (count: CheckReport['deterministic']): Count[] => (count.promise === 'none' ? [] : [count]);
