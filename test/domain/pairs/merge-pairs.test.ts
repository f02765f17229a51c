import * as fc from 'fast-check';
import { compareText } from '../../../src/domain/compare-text';
import { hasQuota, mergePairs } from '../../../src/domain/pairs/merge-pairs';
import { pairForTarget } from '../../../src/domain/pairs/pair-rules';
import { defaultTargetPairSettings, etoPairSettings } from '../../../src/domain/pairs/pair-settings';
import type { PairingResult } from '../../../src/domain/pairs/select-pairs';
import { attemptLists, attemptOf } from '../rollout/attempts';

test('the merged results for the tasks, one by one, are the result for all of them', () => {
  const experts = ['a', 'b', 'c'].map((taskId) => attemptOf({ taskId, trajectoryId: `expert/${taskId}`, reward: 1 }));
  const sorted = ({ pairs, dropped }: PairingResult) => ({
    pairs,
    dropped: dropped.toSorted((a, b) => compareText(a.kind + a.reason, b.kind + b.reason)),
  });
  fc.assert(
    fc.property(attemptLists, fc.constantFrom(defaultTargetPairSettings, etoPairSettings), (attempts, settings) => {
      expect(hasQuota(settings)).toBe(false);
      const taskIds = [...new Set(attempts.map(({ taskId }) => taskId))].sort(compareText);
      const parts = taskIds.map((id) =>
        pairForTarget(
          {
            attempts: attempts.filter(({ taskId }) => taskId === id),
            experts: experts.filter(({ taskId }) => taskId === id),
            seed: 3,
          },
          settings,
        ),
      );
      expect(sorted(mergePairs(parts))).toEqual(sorted(pairForTarget({ attempts, experts, seed: 3 }, settings)));
    }),
  );
});

test('a limit on all pairs of a kind is a quota', () => {
  const { kinds } = defaultTargetPairSettings;
  const limited = { ...kinds, 'expert-target': { ...kinds['expert-target'], maxPairs: 5 } };
  expect(hasQuota({ ...defaultTargetPairSettings, kinds: limited })).toBe(true);
});
