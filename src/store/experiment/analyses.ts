import type { Pool } from 'pg';
import { raw, sql } from '../database/sql';

export type StoredAnalysis = {
  experimentId: number;
  /** sha256 of the canonical JSON of the input. */
  inputHash: string;
  look: number;
  exploratory: boolean;
  /** The output of the statistics; its shape is declared in src/statistics/analysis-output.ts. */
  output: unknown;
};

const columns = `experiment_id as "experimentId", input_hash as "inputHash", look, exploratory, output`;

export const analysisStore = (pool: Pool) => ({
  /** Stores an analysis. The first of equal inputs wins, and every caller gets the stored one. */
  async save({ experimentId, inputHash, look, exploratory, output }: StoredAnalysis): Promise<StoredAnalysis> {
    const { rows } = await pool.query<StoredAnalysis>(sql`
      insert into experiment_analyses (experiment_id, input_hash, look, exploratory, output)
      values (${experimentId}::integer, ${inputHash}, ${look}::integer, ${exploratory}::boolean,
        ${JSON.stringify(output)}::jsonb)
      on conflict (experiment_id, input_hash) do update set look = experiment_analyses.look -- no change, returns the row
      returning ${raw(columns)}`);
    return rows[0]!;
  },

  async find(experimentId: number, inputHash: string): Promise<StoredAnalysis | undefined> {
    const { rows } = await pool.query<StoredAnalysis>(sql`
      select ${raw(columns)} from experiment_analyses where experiment_id = ${experimentId}::integer
        and input_hash = ${inputHash}`);
    return rows[0];
  },

  /** Lists the analyses of an experiment, oldest first: every look at its scores. */
  async list(experimentId: number): Promise<StoredAnalysis[]> {
    const { rows } = await pool.query<StoredAnalysis>(sql`
      select ${raw(columns)} from experiment_analyses where experiment_id = ${experimentId}::integer
        order by recorded_at, input_hash`);
    return rows;
  },
});
