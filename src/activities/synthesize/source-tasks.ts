import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { explorationSize, type ExplorationSize } from '../../domain/tasks/exploration';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { enabledSignals, timesOf } from '../../specification/iteration-plan';
import type { FeedbackSignalRow } from '../../store/trajectories/feedback-signals';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Store } from '../../store';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';
import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { practiceOf } from '../../domain/signals/rare-practice';

/** Task whose environment is explored, or the parent of variants. */
export type SourceTask = {
  task: TaskRow;
  /** The signal that flags the task, or whose place an unflagged task takes; null for the aim `random`. */
  signal: FeedbackSignalRow | null;
  /** An attempt at the task, for its reflection; null for the aim `random`. */
  trajectoryId: string | null;
};

/**
 * Returns the tasks of an aim, the first ones first: flagged tasks, or with `aims: shuffled` as many that no signal flags,
 * or for `random` the tasks that were played, whether flagged or not; all of them are in the environments that the
 * campaign plays. The first pool begins with the seed tasks.
 */
export async function sourceTasks(
  deps: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  aim: SynthesisAim,
): Promise<SourceTask[]> {
  const seed = iterationSeed(spec, key.iteration, 'synthesize', aim);
  if (aim === 'random') {
    const tasks = key.iteration === 0 ? await seedTasks(deps, key) : (await playedTasks(deps, key)).map((p) => p.task);
    return createRandom(seed)
      .shuffle(tasks)
      .map((task) => ({ task, signal: null, trajectoryId: null }));
  }
  const flagged = await flaggedTasks(deps, key, aim, seed);
  if (spec.synthesis.aims !== 'shuffled')
    return flagged.map(({ task, signal }) => ({ task, signal, trajectoryId: signal.trajectoryId }));
  return unflaggedTasks(await playedTasks(deps, key), flagged, seed);
}

/**
 * Returns the parents of an aim's variants: its source tasks, and for `rare` in the place of a flagged task without the
 * rare pattern a played one whose solution has more of it.
 */
export async function variantParents(
  deps: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  aim: SynthesisAim,
): Promise<SourceTask[]> {
  const sources = await sourceTasks(deps, key, spec, aim);
  if (aim !== 'rare' || spec.synthesis.aims === 'shuffled') return sources;
  const random = createRandom(deriveSeed(iterationSeed(spec, key.iteration, 'synthesize', aim), 'practice'));
  const played = (await playedTasks(deps, key)).map(({ task }) => task);
  const practice = practiceOf(played, spec.signals.rare.pattern);
  return sources.map((source) => {
    const tasks = practice(String(source.signal?.detail['pattern'] ?? ''));
    const isPractice = tasks.length === 0 || tasks.some(({ id }) => id === source.task.id);
    return isPractice ? source : { ...source, task: tasks[random.integer(tasks.length)]! };
  });
}

/** Returns the number of candidates and contexts of an aim in an iteration. */
export async function sizeOf(
  deps: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  aim: SynthesisAim,
): Promise<ExplorationSize> {
  const flagged: number[] = [];
  if (aim === 'random' && key.iteration > 0)
    for (const kind of enabledSignals(spec)) flagged.push((await flaggedTasks(deps, key, kind, spec.seed)).length);
  return explorationSize({ aim, iteration: key.iteration, flagged, times: timesOf(spec) }, spec.synthesis);
}

/** Returns the seed tasks of the train split. */
export async function seedTasks({ store }: Dependencies, { campaignId }: IterationKey): Promise<TaskRow[]> {
  return store.tasks.list(campaignId, { split: 'train', isSeed: true });
}

type PlayedTask = { task: TaskRow; trajectoryIds: string[]; isFlagged: boolean };

/** Lists the tasks of the iteration's scored attempts, from which signals are detected. */
async function playedTasks({ store }: Dependencies, { campaignId, iteration }: IterationKey): Promise<PlayedTask[]> {
  const attempts = await store.attemptGroups.listAttempts(campaignId, iteration);
  const signals = await store.feedbackSignals.list(campaignId, iteration);
  const flagged = new Set(signals.map(({ taskId }) => taskId));
  const tasks = await poolTasks(store, campaignId, attempts.keys());
  return tasks.map((task) => ({ task, trajectoryIds: attempts.get(task.id)!, isFlagged: flagged.has(task.id) }));
}

/** Returns those of some tasks that are in the pool. */
const poolTasks = (store: Store, campaignId: number, ids: Iterable<string>): Promise<TaskRow[]> =>
  store.tasks.list(campaignId, { verdict: 'admitted', split: 'train', ids: [...ids] });

/** Draws a task that no signal flags for every flagged one; each is drawn once before any is drawn again. */
function unflaggedTasks(
  played: readonly PlayedTask[],
  flagged: readonly { signal: FeedbackSignalRow }[],
  seed: number,
): SourceTask[] {
  const random = createRandom(deriveSeed(seed, 'unflagged'));
  const drawn = random.shuffle(played.filter(({ isFlagged }) => !isFlagged));
  if (drawn.length === 0) return [];
  return flagged.map(({ signal }, index) => {
    const { task, trajectoryIds } = drawn[index % drawn.length]!;
    return { task, signal, trajectoryId: trajectoryIds[random.integer(trajectoryIds.length)]! };
  });
}

type FlaggedTask = { task: TaskRow; signal: FeedbackSignalRow };

/**
 * Returns one entry per flagged task of the pool with its strongest signal, the strongest first. Equal strengths are in
 * an order by the seed, which does not depend on ids.
 */
async function flaggedTasks(
  { store }: Dependencies,
  key: IterationKey,
  kind: FeedbackSignalKind,
  seed: number,
): Promise<FlaggedTask[]> {
  const signals = (await store.feedbackSignals.list(key.campaignId, key.iteration)).filter(
    (found) => found.kind === kind,
  );
  const flagged = new Set(signals.map(({ taskId }) => taskId));
  const byId = new Map((await poolTasks(store, key.campaignId, flagged)).map((task) => [task.id, task]));
  const strongest = new Map<string, FlaggedTask>();
  for (const signal of signals) {
    const task = byId.get(signal.taskId);
    const known = task && strongest.get(task.id);
    if (task && !(known && known.signal.strength >= signal.strength)) strongest.set(task.id, { task, signal });
  }
  return createRandom(seed)
    .shuffle([...strongest.values()])
    .sort((a, b) => b.signal.strength - a.signal.strength);
}
