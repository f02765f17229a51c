import type pg from 'pg';
import type { CampaignRows } from './campaign-rows';
import type { Row } from './fixture-rows';

/** Tables in the order of their foreign keys; `late_` rows refer to rows of the same iteration. */
const order: [source: string, table: string][] = [
  ['iterations', 'iterations'],
  ['phases', 'phases'],
  ['tasks', 'tasks'],
  ['planned_tasks', 'planned_tasks'],
  ['trajectories', 'trajectories'],
  ['feedback_signals', 'feedback_signals'],
  ['signal_rates', 'signal_rates'],
  ['late_tasks', 'tasks'],
  ['late_trajectories', 'trajectories'],
  ['training_runs', 'training_runs'],
  ['training_progress', 'training_progress'],
  ['policies', 'policies'],
  ['evaluation_trajectories', 'trajectories'],
  ['trajectory_turns', 'trajectory_turns'],
  ['preference_pairs', 'preference_pairs'],
  ['dropped_pairs', 'dropped_pairs'],
  ['training_examples', 'training_examples'],
  ['attempt_faults', 'attempt_faults'],
  ['attempt_resumes', 'attempt_resumes'],
  ['evaluations', 'evaluations'],
  ['promotions', 'promotions'],
  ['ledger', 'ledger'],
  ['events', 'events'],
];

const ownedByJob = new Set(['training_progress']);

const partitioned = [
  'tasks',
  'planned_tasks',
  'trajectories',
  'trajectory_turns',
  'feedback_signals',
  'preference_pairs',
  'training_examples',
];

/** Inserts the rows of a campaign into its partitions and returns its id. */
export async function insertCampaign(pool: pg.Pool, rows: CampaignRows): Promise<number> {
  const { rows: inserted } = await insert(pool, 'campaigns', [rows.campaign], 'returning id');
  const id = inserted[0]!.id;
  for (const table of partitioned)
    await pool.query(`create table ${table}_${id} partition of ${table} for values in (${id})`);
  for (const { tables } of rows.blocks)
    for (const [source, table] of order)
      await insert(
        pool,
        table,
        (tables[source] ?? []).map((row) => (ownedByJob.has(table) ? row : { ...row, campaign_id: id })),
      );
  const active = new Map<string, string>();
  for (const { tables } of rows.blocks) {
    for (const p of tables['policies'] ?? [])
      if (p['role'] !== 'target') active.set(String(p['role']), String(p['id']));
    for (const m of tables['promotions'] ?? [])
      if (m['decision'] === 'promote') active.set('target', String(m['candidate_id']));
  }
  await insert(
    pool,
    'active_policies',
    [...active].map(([role, policy_id]) => ({ campaign_id: id, role, policy_id, version: 1 })),
  );
  return id;
}

async function insert(pool: pg.Pool, table: string, rows: Row[], returning = ''): Promise<{ rows: { id: number }[] }> {
  if (rows.length === 0) return { rows: [] };
  const known = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (column) => column !== 'role' || table !== 'trajectories',
  );
  const columns = known.join(', ');
  return pool.query<{ id: number }>(
    `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1::jsonb) ${returning}`,
    [JSON.stringify(rows)],
  );
}
