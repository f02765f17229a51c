import type { Pool } from 'pg';

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
    const { rows } = await pool.query<StoredAnalysis>(
      `insert into experiment_analyses (experiment_id, input_hash, look, exploratory, output)
       values ($1::integer, $2, $3::integer, $4::boolean, $5::jsonb)
       on conflict (experiment_id, input_hash) do update set look = experiment_analyses.look -- no change, returns the row
       returning ${columns}`,
      [experimentId, inputHash, look, exploratory, JSON.stringify(output)],
    );
    return rows[0]!;
  },

  async find(experimentId: number, inputHash: string): Promise<StoredAnalysis | undefined> {
    const { rows } = await pool.query<StoredAnalysis>(
      `select ${columns} from experiment_analyses where experiment_id = $1::integer and input_hash = $2`,
      [experimentId, inputHash],
    );
    return rows[0];
  },

  /** Lists the analyses of an experiment, oldest first: every look at its scores. */
  async list(experimentId: number): Promise<StoredAnalysis[]> {
    const { rows } = await pool.query<StoredAnalysis>(
      `select ${columns} from experiment_analyses where experiment_id = $1::integer order by recorded_at, input_hash`,
      [experimentId],
    );
    return rows;
  },
});
