import type { Pool } from 'pg';
import type { OpenWorkflow } from './open-workflows';

/** Returns a text that changes with every row of progress of the campaigns that have begun. */
export async function progressOf(pool: Pool, names: readonly string[]): Promise<string> {
  const { rows } = await pool.query<{ progress: string }>(
    `with ids as (select id from campaigns where name = any ($1::text[]))
     select concat_ws(' ',
       (select count(*) || '/' || count(finished_at) from phases where campaign_id in (select id from ids)),
       (select count(*) from tasks where campaign_id in (select id from ids)),
       (select count(*) from planned_tasks where campaign_id in (select id from ids)),
       (select count(*) from trajectories where campaign_id in (select id from ids)),
       (select count(*) || '/' || coalesce(sum(hashtext(trajectory_id || ordinal)), 0)
         from turn_journal where campaign_id in (select id from ids)),
       (select count(*) || '/' || count(policy_id) from training_runs where campaign_id in (select id from ids)),
       (select count(*) || '/' || count(s.policy_id) from rl_steps s join training_runs r using (job_key)
         where r.campaign_id in (select id from ids)),
       (select count(*) from training_progress p join training_runs r using (job_key)
         where r.campaign_id in (select id from ids)),
       (select count(*) from policies where campaign_id in (select id from ids)),
       (select count(*) from evaluations where campaign_id in (select id from ids)),
       (select count(*) from campaigns where finished_at is not null)) as progress`,
    [names],
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
