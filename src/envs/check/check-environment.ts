import { DomainError } from '../../domain/errors';
import { isSuccess, type TaskSplit } from '../../domain/rollout/trajectory';
import type { Capabilities, TaskRecord } from '../server/environment-data';
import type { Environments } from '../environments';
import type { Progress } from '../contract/environment-error';
import { drawUntilDone } from '../server/draw-until-done';
import { bestConstant, constantEpisodes, type ConstantAnswer } from './constant-answers';
import { equalOpenings, type EqualOpenings } from '../episode/equal-openings';
import { measureLeak, type Leak } from './leaked-sessions';
import { playEpisodes, type PlannedEpisode, type PlayedEpisode } from './play-episodes';
import { mean } from '../../domain/evaluation/statistics';
import { hasClosingAction } from '../../domain/evaluation/calibration-tasks';
import { corruptActions, type CorruptionKind } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';

export type CheckSettings = {
  environment: string;
  /** Maximum number of tasks per split. */
  tasks: number;
  splits: readonly ('train' | 'held-out')[];
  /** Concurrent sessions; lowered to the capacity of the environment. */
  sessions: number;
  /** Episodes whose client disconnects. */
  kills: number;
  seed: number;
  options: Record<string, unknown>;
};

export type Count = { tried: number; good: number; examples: string[] };

export type CheckReport = {
  environment: string;
  tasks: number;
  /** Reference actions with reward 1; null if the environment has none. */
  gold: Count | null;
  /** Wrong actions with a reward below 1: nonsense, and actions of another task or without their end. */
  wrong: { nonsense: Count; broken: Count };
  /** What nonsense scores: a policy gets it for doing nothing, and pairs and advantages count it. Null if all ended in faults. */
  floor: { mean: number; highest: number; taskId: string } | null;
  /** Equal results of two sequential passes, compared as strictly as the environment's replay capability. */
  deterministic: Count & { promise: Capabilities['replay'] };
  leaked: Leak;
  /** Equal results of a concurrent and a sequential pass. */
  concurrency: Count & { sessions: number };
  /** The best answer that ignores the task, as a lower bound for figures of a policy; null without candidates. */
  constant: ConstantAnswer | null;
  /** Held-out tasks that begin as a train task does. */
  openings: EqualOpenings;
  /**
   * Tasks with the goal of a task of another content. Their variants are refused as duplicates (`isRefused`), if the environment
   * draws some and does not declare that contents alone are compared.
   */
  sharedGoals: { tasks: number; isRefused: boolean };
  /** `unverified`: no check failed, but no episode was won, so the rewards are unknown. */
  verdict: Verdict;
};

export type Verdict = 'passed' | 'failed' | 'unverified';

type OnProgress = (pass: string, done: number, all: number) => void;

const maxRepeated = 100; // tasks: an environment that is not repeatable fails on the first ones

/**
 * Checks an environment through its server, as a worker uses it: plays reference actions and wrong actions, compares
 * repeated and concurrent passes, and counts the sessions that remain after their clients disconnect.
 *
 * @throws EnvironmentError when the server is unreachable or rejects a request; DomainError `NoTasks`
 */
export async function checkEnvironment(
  { open, data, health }: Pick<Environments, 'open' | 'data' | 'health'>,
  settings: CheckSettings,
  onProgress: OnProgress,
): Promise<CheckReport> {
  const { environment, seed } = settings;
  const declared = await data.capabilities(environment);
  const { gold: hasReferences, replay, constant_answers: given } = declared;
  const { tasks, splits } = await drawTasks(data, settings, onProgress);
  const maxSessions = Math.min(settings.sessions, (await data.capacity(environment)) ?? settings.sessions);
  const play = (pass: string, plans: readonly PlannedEpisode[], sessions: number): Promise<PlayedEpisode[]> => {
    let done = 0;
    const onPlayed = (): void => onProgress(pass, ++done, plans.length);
    return playEpisodes(open, plans, { environment, seed, sessions, onPlayed });
  };

  const plans = hasReferences
    ? tasks.map((task) => ({ task, actions: task.reference_actions }))
    : nonsenseEpisodes(tasks);
  const sequential = await play('one at a time', plans, 1);
  const repeated = await play('once more', plans.slice(0, maxRepeated), 1);
  const concurrent = await play(`${maxSessions} at once`, plans, maxSessions);
  const nonsense = await play('nonsense', nonsenseEpisodes(tasks), maxSessions);
  const corrupted = await play('mistakes', hasReferences ? corruptedEpisodes(tasks, seed) : [], maxSessions);
  const constants = constantEpisodes(tasks, given);
  const constant = await play('constant answers', constants.plans, maxSessions);
  const disconnected = Array.from({ length: settings.kills }, (_, n) => plans[n % plans.length]!);
  const countSessions = async (): Promise<number | null> =>
    (await health.read()).environments[environment]?.sessions ?? null;

  return withVerdict({
    environment,
    tasks: tasks.length,
    gold: hasReferences ? countGood(sequential, isSolved) : null,
    wrong: { nonsense: countGood(nonsense, isUnsolved), broken: countGood(corrupted, isUnsolved) },
    floor: floorOf(nonsense),
    deterministic: { promise: replay, ...countGood(repeated, isEqualTo(sequential, replay)) },
    concurrency: { sessions: maxSessions, ...countGood(concurrent, isEqualTo(sequential, replay)) },
    constant: bestConstant(constants.answers, constant),
    openings: equalOpenings(sequential.map((played, index) => ({ ...played, split: splits[index]! }))),
    sharedGoals: sharedGoals(tasks, declared),
    leaked: await measureLeak(open, disconnected, { environment, seed, sessions: maxSessions }, countSessions),
  });
}

async function drawTasks(
  data: Environments['data'],
  settings: CheckSettings,
  onProgress: OnProgress,
): Promise<{ tasks: TaskRecord[]; splits: TaskSplit[] }> {
  const { environment, tasks: count, seed, options } = settings;
  const tasks: TaskRecord[] = [];
  const splits: TaskSplit[] = [];
  for (const split of settings.splits) {
    const onDrawn = ({ ready, count: all }: Progress): void => onProgress(`draw of ${split} tasks`, ready, all);
    const request = { split, count, seed, options };
    const drawn = await drawUntilDone(() => data.tasks(environment, request), { onProgress: onDrawn });
    tasks.push(...drawn);
    splits.push(...drawn.map(() => split));
  }
  if (tasks.length === 0) throw new DomainError('NoTasks', `${environment} has no tasks for these options`);
  return { tasks, splits };
}

function sharedGoals(
  tasks: readonly TaskRecord[],
  { variants, spec_defaults: { settings } }: Capabilities,
): CheckReport['sharedGoals'] {
  const contents = new Map<string, Set<string>>();
  for (const { goal, content_key: content } of tasks)
    contents.set(goal, (contents.get(goal) ?? new Set()).add(content));
  const shared = tasks.filter(({ goal }) => contents.get(goal)!.size > 1).length;
  return { tasks: shared, isRefused: shared > 0 && variants && settings['admission.compare'] !== 'contents' };
}

type Criterion = (played: PlayedEpisode, index: number) => boolean;

const isSolved: Criterion = ({ reward }) => reward !== null && isSuccess(reward);
const isUnsolved: Criterion = ({ reward }) => reward !== null && !isSuccess(reward);

/** Without repeatable observations, the observations of an episode may differ and its reward may not. */
const isEqualTo =
  (reference: readonly PlayedEpisode[], replay: Capabilities['replay']): Criterion =>
  ({ digest, reward }, index) =>
    replay === 'observations' ? digest === reference[index]!.digest : reward === reference[index]!.reward;

const maxExamples = 5;

function countGood(played: readonly PlayedEpisode[], isGood: Criterion): Count {
  const bad = played.filter((episode, index) => !isGood(episode, index));
  return {
    tried: played.length,
    good: played.length - bad.length,
    examples: bad.slice(0, maxExamples).map(({ taskId, reward, fault }) => `${taskId}: ${fault ?? `reward ${reward}`}`),
  };
}

function floorOf(nonsense: readonly PlayedEpisode[]): CheckReport['floor'] {
  const scored = nonsense.flatMap(({ taskId, reward }) => (reward === null ? [] : [{ taskId, reward }]));
  const [highest] = scored.toSorted((a, b) => b.reward - a.reward);
  if (!highest) return null;
  return { mean: mean(scored.map(({ reward }) => reward)), highest: highest.reward, taskId: highest.taskId };
}

/**
 * Corrupted actions may be right by chance, but an environment that accepts most of them checks little. Equal openings are
 * a failure only without reference actions: otherwise content keys separate the splits.
 */
function withVerdict(report: Omit<CheckReport, 'verdict'>): CheckReport {
  const { gold, wrong, deterministic, concurrency, leaked, openings } = report;
  const complete = [
    wrong.nonsense,
    concurrency,
    ...(gold ? [gold] : []),
    ...(deterministic.promise === 'none' ? [] : [deterministic]),
  ];
  const passed =
    complete.every(({ tried, good }) => good === tried) &&
    wrong.broken.good * 2 >= wrong.broken.tried &&
    (leaked.sessions ?? 0) === 0 &&
    (gold !== null || openings.pairs.length === 0 || !openings.identifying);
  return { ...report, verdict: !passed ? 'failed' : gold ? 'passed' : 'unverified' };
}

const nonsense = 'colourless green ideas sleep furiously';
const minActions = 3; // also for tasks without reference actions

/** Plans an episode per task whose actions mean nothing in any environment: none may be solved. */
const nonsenseEpisodes = (tasks: readonly TaskRecord[]): PlannedEpisode[] =>
  tasks.map((task) => ({
    task,
    actions: Array.from({ length: Math.max(minActions, task.reference_actions.length) }, () => nonsense),
  }));

/** Corruptions that matter in every environment; a single omitted action may have been an inspection without effect. */
const decisiveKinds: readonly CorruptionKind[] = ['other-task', 'partial'];

/**
 * Plans an episode per task with reference actions, which plays the reference actions of another task, or its own without
 * their end. Some of them are solved by chance, or because the end repeats earlier actions; most must not be.
 */
function corruptedEpisodes(tasks: readonly TaskRecord[], seed: number): PlannedEpisode[] {
  const closes = hasClosingAction(tasks.map(({ reference_actions: referenceActions }) => ({ referenceActions })));
  return tasks.flatMap((task, index) => {
    const random = createRandom(deriveSeed(seed, 'broken', index));
    const others = random.sample(tasks, 20).filter(({ content_key: key }) => key !== task.content_key);
    const donors = { alike: [], others: others.map(({ reference_actions: actions }) => actions) };
    const corrupted = corruptActions({ actions: task.reference_actions, closes }, donors, random);
    return corrupted
      .filter(({ kind }) => decisiveKinds.includes(kind))
      .slice(0, 1)
      .map(({ actions }) => ({ task, actions }));
  });
}
