import { corruptActions, type CorruptionKind } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/base/seeded-random';
import { deriveSeed } from '../../domain/base/seed-tree';
import type { TaskRecord } from '../server/environment-data';
import type { PlannedEpisode } from './play-episodes';

const nonsense = 'colourless green ideas sleep furiously';
const withoutGold = 3; // actions, where nobody knows how many it takes

/** Every task, played by a text that means nothing in any environment: none may be solved. */
export const nonsenseEpisodes = (tasks: readonly TaskRecord[]): PlannedEpisode[] =>
  tasks.map((task) => ({
    task,
    actions: Array.from({ length: Math.max(withoutGold, task.reference_actions.length) }, () => nonsense),
  }));

/** Mistakes that matter everywhere: a single action left out may have been a look around. */
const telling: readonly CorruptionKind[] = ['other-task', 'truncated'];

/**
 * Every task that has gold, played by another task's, or by its own cut short. Some are solved all the same, by chance or
 * because the end repeats itself; most must not be.
 */
export function corruptedEpisodes(tasks: readonly TaskRecord[], seed: number): PlannedEpisode[] {
  return tasks.flatMap((task, place) => {
    const random = createRandom(deriveSeed(seed, 'broken', place));
    const others = random.sample(tasks, 20).filter(({ content_key: key }) => key !== task.content_key);
    const broken = corruptActions(
      task.reference_actions,
      others.map(({ reference_actions: actions }) => actions),
      random,
    );
    return broken
      .filter(({ kind }) => telling.includes(kind))
      .slice(0, 1)
      .map(({ actions }) => ({ task, actions }));
  });
}
