import { sql, type Statement } from '../database/sql';

/**
 * Query of the train tasks of other campaigns that trained a policy of a campaign, with the columns `policy_id`,
 * `environment` and `content_key`: held-out tasks of another draw may be in the pool that those campaigns grew.
 */
export const trainedTasks = (campaignId: number): Statement => sql`
  select distinct own.id as policy_id, k.environment, k.content_key
    from policies own
    join policies p on p.id = own.id and p.campaign_id <> own.campaign_id
    join training_runs r on r.job_key = p.training_run and r.method not in ('init', 'import')
    join tasks k on k.campaign_id = p.campaign_id and k.split = 'train' and k.verdict = 'admitted'
     and k.created_iteration <= p.iteration
   where own.campaign_id = ${campaignId}::int`;
