import type { Pool } from 'pg';
import type { OpenWorkflow } from './open-workflows';

/** Returns a text that changes with every row of progress of the campaigns. */
export async function progressOf(pool: Pool, campaignIds: readonly number[]): Promise<string> {
  const { rows } = await pool.query<{ progress: string }>(
    `select concat_ws(' ',
       (select count(*) || '/' || count(finished_at) from phases where campaign_id = any ($1::integer[])),
       (select count(*) from tasks where campaign_id = any ($1::integer[])),
       (select count(*) from planned_tasks where campaign_id = any ($1::integer[])),
       (select count(*) from trajectories where campaign_id = any ($1::integer[])),
       (select count(*) || '/' || coalesce(sum(hashtext(trajectory_id || ordinal)), 0)
         from turn_journal where campaign_id = any ($1::integer[])),
       (select count(*) || '/' || count(policy_id) from training_runs where campaign_id = any ($1::integer[])),
       (select count(*) || '/' || count(s.policy_id) from rl_steps s join training_runs r using (job_key)
         where r.campaign_id = any ($1::integer[])),
       (select count(*) from training_progress p join training_runs r using (job_key)
         where r.campaign_id = any ($1::integer[])),
       (select count(*) from policies where campaign_id = any ($1::integer[])),
       (select count(*) from evaluations where campaign_id = any ($1::integer[])),
       (select count(*) from campaigns where finished_at is not null)) as progress`,
    [campaignIds],
  );
  return rows[0]!.progress;
}

/** Returns a text that changes with every completed activity and every closed workflow. */
export const eventsOf = (open: readonly OpenWorkflow[]): string =>
  open
    .map(({ runId, events }) => `${runId} ${events}`)
    .sort()
    .join('\n');

/** Returns the result of a request; undefined while the server is unavailable. */
export const unlessUnavailable = <T>(request: () => Promise<T>): Promise<T | undefined> =>
  request().catch(() => undefined);
