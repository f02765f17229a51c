import { sha256 } from '../../../src/files/sha256';
import { analysisVersion, type AnalysisInput } from '../../../src/statistics/analysis-input';

const arms = ['none', 'random', 'signals'];
const seeds = [1, 2, 3];
const tasks = Array.from({ length: 20 }, (_, task) => `t${task}`);
const testHash = sha256(tasks.toSorted().join('\n'));
const effort = { updates: 100, trainedTokens: 5000 };

/** An experiment of three arms and three seeds with 20 tasks, in which one cell of `none` is missing. */
export const smallAnalysis = (): AnalysisInput => ({
  version: analysisVersion,
  look: 3,
  looks: [3],
  looksTaken: [],
  arms: arms.map((name) => ({ name, replicaOf: null })),
  match: { equal: ['updates'], within: { trainedTokens: 0.05 } },
  metric: 'success',
  alpha: 0.05,
  margin: 0.05,
  futility: null,
  primary: { name: 'signals - random', plus: 'signals', minus: 'random' },
  secondary: [{ name: 'signals - none', plus: 'signals', minus: 'none' }],
  ordering: arms,
  breakdown: ['pattern'],
  cells: arms.flatMap((arm) =>
    seeds.map((seed) => {
      const missing = arm === 'none' && seed === 2;
      return {
        arm,
        seed,
        leakedTasks: 0,
        copyOf: null,
        testHash: missing ? null : testHash,
        ...(missing
          ? { status: 'missing' as const, reason: 'stopped' }
          : { status: 'finished' as const, reason: null }),
        checkpoints: missing ? [] : [{ checkpoint: 1, effort }],
      };
    }),
  ),
  scores: arms.flatMap((arm, a) =>
    seeds
      .filter((seed) => arm !== 'none' || seed !== 2)
      .flatMap((seed) =>
        tasks.map((name, task) => {
          const solved = Number((task * 7 + seed * 3 + a * 5) % 20 < 6 + a + seed * (a - 1));
          const features = { pattern: task % 2 === 0 ? 'join' : 'having' };
          return { arm, seed, checkpoint: 1, task: name, features, reward: solved, success: solved };
        }),
      ),
  ),
});
