import type { PatternExtractor } from '../../domain/signals/action-pattern';
import { createPatternCounts } from '../../domain/signals/pattern-counts';
import { pagesOf } from '../../domain/pages';
import type { IterationKey } from '../../store/campaign/iterations';
import type { AttemptGroup } from '../../store/trajectories/attempt-groups';
import type { Dependencies } from '../context/dependencies';
import type { Pause } from '../context/pause';

/**
 * Stores the groups and patterns of the iteration, and of earlier ones that have none: those that an earlier release
 * detected, and those that a fork copied and reads with another extractor. An iteration that has them is not read again.
 */
export async function countPatterns(
  { store: { attemptGroups } }: Dependencies,
  key: IterationKey,
  extractor: PatternExtractor,
  pause: Pause,
): Promise<void> {
  for (const iteration of await attemptGroups.listMissing(key, extractor)) {
    const patterns = createPatternCounts(extractor);
    const readPages = async function* (): AsyncGenerator<AttemptGroup[]> {
      for (const ids of pagesOf(await attemptGroups.listPlayed(key.campaignId, iteration), tasksPerPage)) {
        const groups: AttemptGroup[] = [];
        for (const { attempts, ...group } of await attemptGroups.listActions(key.campaignId, iteration, ids)) {
          const counted = attempts.map((one): AttemptGroup['attempts'][number] => [
            one.attempt,
            one.reward,
            patterns.add(one),
          ]);
          groups.push({ ...group, attempts: counted });
          await pause();
        }
        yield groups;
      }
    };
    await attemptGroups.save(key, { iteration, extractor }, readPages(), () => pagesOf(patterns.counts, 5_000));
  }
}

const tasksPerPage = 200;
