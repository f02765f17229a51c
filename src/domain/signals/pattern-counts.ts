import { actionPatterns, type PatternExtractor } from './action-pattern';

/** A pattern: its occurrences, the attempts with it, and whether one of these has a reward of at least 0.5. */
export type PatternCount = { pattern: string; count: number; trajectories: number; rewarded: boolean };

const rewardedFrom = 0.5;

/** Counts the patterns of attempts, which are added one by one. */
export function createPatternCounts(extractor: PatternExtractor) {
  const ordinals = new Map<string, number>();
  const counts: PatternCount[] = [];
  const ordinalOf = (pattern: string): number => {
    const ordinal = ordinals.get(pattern) ?? counts.length;
    if (ordinal === counts.length) {
      ordinals.set(pattern, ordinal);
      counts.push({ pattern, count: 0, trajectories: 0, rewarded: false });
    }
    return ordinal;
  };
  return {
    /** In the order of their ordinals. */
    counts: counts as readonly PatternCount[],

    /** Counts an attempt. Returns the ordinals of its distinct patterns. */
    add({ actions, reward }: { actions: readonly string[]; reward: number }): number[] {
      const all = actionPatterns(actions, extractor).map(ordinalOf);
      for (const ordinal of all) counts[ordinal]!.count += 1;
      const distinct = [...new Set(all)];
      for (const ordinal of distinct) {
        counts[ordinal]!.trajectories += 1;
        counts[ordinal]!.rewarded ||= reward >= rewardedFrom;
      }
      return distinct;
    },
  };
}
