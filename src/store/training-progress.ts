import type { Pool } from 'pg';

/** Numbers by the trainer's names (trainer/README.md), `step` among them. */
export type ProgressFacts = Readonly<Record<string, number>>;

/** The curve of a job: what it told of itself after some of its updates. */
export const trainingProgressStore = (pool: Pool) => ({
  /** Stores updates of a run; one that is stored already stays as it is. */
  async save(jobKey: string, updates: readonly ProgressFacts[]): Promise<void> {
    if (updates.length === 0) return;
    await pool.query(
      `insert into training_progress (job_key, step, facts)
       select $1, (update ->> 'step')::integer, update - 'step' from jsonb_array_elements($2::jsonb) as update
       on conflict do nothing`,
      [jobKey, JSON.stringify(updates)],
    );
  },

  /** The newest update that is stored; 0 when none is. */
  async lastStep(jobKey: string): Promise<number> {
    const { rows } = await pool.query<{ step: number }>(
      'select coalesce(max(step), 0) as step from training_progress where job_key = $1',
      [jobKey],
    );
    return rows[0]!.step;
  },
});

export type TrainingProgressStore = ReturnType<typeof trainingProgressStore>;
