import { breakActions } from '../../domain/break-actions';
import { createRandom } from '../../domain/seeded-random';
import { deriveSeed } from '../../domain/seed-tree';
import type { TaskRecord } from '../environment-data';
import type { Play } from './play-pass';

const nonsense = 'colourless green ideas sleep furiously';
const withoutGold = 3; // actions, where nobody knows how many it takes

/** Every task, played by a text that means nothing in any environment: none may be solved. */
export const nonsensePlays = (tasks: readonly TaskRecord[]): Play[] =>
  tasks.map((task) => ({
    task,
    actions: Array.from({ length: Math.max(withoutGold, task.reference_actions.length) }, () => nonsense),
  }));

/**
 * Every task that has gold, with a mistake made in it: a call left out, a number changed, another task's actions. Some
 * are solved all the same, because not every action counts; most must not be.
 */
export function brokenPlays(tasks: readonly TaskRecord[], seed: number): Play[] {
  return tasks.flatMap((task, place) => {
    const random = createRandom(deriveSeed(seed, 'broken', place));
    const others = random.sample(tasks, 20).filter(({ content_key: key }) => key !== task.content_key);
    const broken = breakActions(
      task.reference_actions,
      others.map(({ reference_actions: actions }) => actions),
      random,
    );
    return broken.slice(0, 1).map(({ actions }) => ({ task, actions }));
  });
}
