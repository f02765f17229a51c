import type { Effort } from '../../src/domain/experiment/effort';
import type { ScoreRow } from '../../src/domain/experiment/record';
import { cellCampaign, type Contrast, type Experiment } from '../../src/domain/experiment/experiment';
import type { ExperimentRecord, RecordedCell } from '../../src/domain/experiment/record';
import { canonicalJson } from '../../src/domain/canonical-json';
import { sha256 } from '../../src/files/sha256';
import { createRandom } from '../../src/domain/random/seeded-random';

export type Simulation = {
  /** Difference of success between each arm and the first, in [0, 1]. */
  effects: Record<string, number>;
  seeds?: number;
  tasks?: number;
  looks?: number[];
  /** Deviation between runs, in [0, 1]; 2.5 points were measured. */
  runSd?: number;
  seed?: number;
};

const patterns = ['join', 'having', 'order', 'count'];

export const contrastOf = (plus: string, minus: string): Contrast => ({ name: `${plus} - ${minus}`, plus, minus });

/**
 * Simulates an experiment of known effects. logit P = a_task + u_seed + v_(arm, seed); sd(a) = 2.84 gives a discordance
 * of 24 % between two runs, and one point of success is 0.01 / 0.12 logit.
 */
export function simulateRecord(simulation: Simulation): ExperimentRecord {
  const experiment = simulatedExperiment(simulation);
  const hash = sha256(canonicalJson(experiment));
  const { seeds = 8, tasks } = simulation;
  const names = Object.keys(simulation.effects);
  return {
    experiment,
    version: 1,
    hash,
    frozenAt: '2026-12-01T08:00:00.000Z',
    profile: 'quick',
    manifest: { commit: 'c0ffee', analysisVersion: 1 },
    amendments: [],
    cells: Array.from({ length: seeds }, (_, i) => names.map((arm) => simulatedCell(arm, i + 1, tasks))).flat(),
    scores: simulatedScores(simulation),
  };
}

export function simulatedExperiment({ effects, seeds = 8, looks = [seeds] }: Simulation): Experiment {
  const [first = '', second = '', ...others] = Object.keys(effects);
  return {
    name: 'toy',
    seed: 20261201,
    question: 'Do tasks placed by signals teach more than random ones?',
    arms: Object.keys(effects).map((name) => ({
      name,
      replicaOf: null,
      matches: null,
      spec: { synthesis: { aims: name } },
      differences: [{ key: 'synthesis.aims', base: 'signals', arm: name }],
    })),
    looks,
    concurrency: 1,
    stopping: { futility: null, usd: null, hours: null },
    match: { equal: ['updates'], within: { trainedTokens: 0.05 }, report: ['wallSeconds', 'usd'] },
    analysis: {
      metric: 'success',
      alpha: 0.05,
      margin: 0.05,
      ordering: null,
      breakdown: ['pattern'],
      primary: contrastOf(second, first),
      secondary: others.map((name) => contrastOf(name, first)),
    },
  };
}

/** Keys of the test tasks of a seed. */
const tasksOf = (seed: number, count: number): string[] =>
  Array.from({ length: count }, (_, task) => sha256(`task ${seed} ${task}`));

export const simulatedCell = (arm: string, seed: number, tasks = 100): RecordedCell => ({
  arm,
  seed,
  status: 'finished',
  reason: null,
  exploratory: false,
  version: 1,
  imported: false,
  leakedTasks: 0,
  testHash: sha256(tasksOf(seed, tasks).toSorted().join('\n')),
  campaign: cellCampaign('toy', { arm, seed }),
  manifest: { seed, startedAt: '2999-12-01T09:00:00.000Z' }, // after any freeze of a test
  contentHash: sha256(`${arm} ${seed}`),
  checkpoints: [0, 1, 2].map((checkpoint) => ({ checkpoint, effort: effortAt(checkpoint, seed) })),
});

const effortAt = (checkpoint: number, seed: number): Effort => ({
  updates: { nominal: 250 * checkpoint, paid: 250 * checkpoint },
  trainedTokens: { nominal: 120_000 * checkpoint, paid: 100_000 * checkpoint },
  wallSeconds: { nominal: 50 + 90 * checkpoint + seed, paid: 20 + 90 * checkpoint + seed },
  usd: { nominal: 0.2 * checkpoint, paid: 0.1 * checkpoint },
});

function simulatedScores({ effects, seeds = 8, tasks = 100, runSd = 0.025, seed = 7 }: Simulation): ScoreRow[] {
  const { next: random } = createRandom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const logit = 1 / 0.12;
  const hardness = Array.from({ length: tasks }, () => 2.84 * normal());
  const rows: ScoreRow[] = [];
  for (let replicate = 1; replicate <= seeds; replicate++) {
    const keys = tasksOf(replicate, tasks);
    const shared = runSd * logit * normal();
    for (const [arm, effect] of Object.entries(effects)) {
      const shift = shared + runSd * logit * normal() + effect * logit;
      for (let checkpoint = 0; checkpoint <= 2; checkpoint++)
        for (const [task, a] of hardness.entries()) {
          const success = random() < 1 / (1 + Math.exp(-(a + (checkpoint / 2) * shift))) ? 1 : 0;
          const features = { pattern: patterns[task % patterns.length]!, difficulty: 1 + (task % 3) };
          const key = keys[task]!;
          rows.push({ arm, seed: replicate, checkpoint, task: key, features, reward: success, success });
        }
    }
  }
  return rows;
}
