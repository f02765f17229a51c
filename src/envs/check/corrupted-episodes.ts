import { corruptActions, type CorruptionKind } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import type { TaskRecord } from '../server/environment-data';
import type { PlannedEpisode } from './play-episodes';

const nonsense = 'colourless green ideas sleep furiously';
const minActions = 3; // also for tasks without reference actions

/** Plans an episode per task whose actions mean nothing in any environment: none may be solved. */
export const nonsenseEpisodes = (tasks: readonly TaskRecord[]): PlannedEpisode[] =>
  tasks.map((task) => ({
    task,
    actions: Array.from({ length: Math.max(minActions, task.reference_actions.length) }, () => nonsense),
  }));

/** Corruptions that matter in every environment; a single omitted action may have been an inspection without effect. */
const decisiveKinds: readonly CorruptionKind[] = ['other-task', 'truncated'];

/**
 * Plans an episode per task with reference actions, which plays the reference actions of another task, or its own without
 * their end. Some of them are solved by chance, or because the end repeats earlier actions; most must not be.
 */
export function corruptedEpisodes(tasks: readonly TaskRecord[], seed: number): PlannedEpisode[] {
  return tasks.flatMap((task, index) => {
    const random = createRandom(deriveSeed(seed, 'broken', index));
    const others = random.sample(tasks, 20).filter(({ content_key: key }) => key !== task.content_key);
    const corrupted = corruptActions(
      task.reference_actions,
      others.map(({ reference_actions: actions }) => actions),
      random,
    );
    return corrupted
      .filter(({ kind }) => decisiveKinds.includes(kind))
      .slice(0, 1)
      .map(({ actions }) => ({ task, actions }));
  });
}
