import type { Pool } from 'pg';
import type { Experiment } from '../../src/domain/experiment/experiment';

type Size = Pick<Experiment, 'name' | 'looks' | 'concurrency'>;

/** Returns an experiment with two arms, `short` and `long`, that differ in their specs. */
export const twoArms = (size: Size, short: Record<string, unknown>, long: Record<string, unknown>): Experiment => ({
  ...size,
  seed: 7,
  question: 'Do more epochs help?',
  arms: [
    { name: 'short', replicaOf: null, spec: short, differences: [], matches: null },
    { name: 'long', replicaOf: null, spec: long, differences: [], matches: null },
  ],
  match: { equal: ['environmentAttempts'], within: {}, report: [] },
  analysis: {
    metric: 'success',
    primary: { name: 'long - short', plus: 'long', minus: 'short' },
    alpha: 0.05,
    secondary: [],
    ordering: null,
    margin: 0.05,
    breakdown: [],
  },
  stopping: { futility: null, usd: null, hours: null },
});

/** Stores an experiment with a frozen version and returns its id. */
export async function insertFrozen(pool: Pool, resolved: Experiment, hash = 'hash'): Promise<number> {
  const { rows } = await pool.query<{ id: number }>('insert into experiments (name) values ($1) returning id', [
    resolved.name,
  ]);
  await pool.query(
    `insert into experiment_versions (experiment_id, version, resolved, hash, source, manifest)
     values ($1, 1, $2, $3, 'source', '{}')`,
    [rows[0]!.id, resolved, hash],
  );
  return rows[0]!.id;
}

/** Returns an experiment as a release froze it that had no `weight` and no `training.sft.stopAtLoss` in its specs. */
export const ofEarlierRelease = (experiment: Experiment): Experiment => ({
  ...experiment,
  arms: experiment.arms.map((arm) => {
    const { weight: _weight, training, ...spec } = arm.spec;
    const { stopAtLoss: _loss, ...sft } = (training as { sft: Record<string, unknown> }).sft;
    return { ...arm, spec: { ...spec, training: { ...(training as object), sft } } };
  }),
});
