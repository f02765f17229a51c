import type { Pool } from 'pg';
import { phases } from '../../domain/campaign/phases';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { planOf } from '../../specification/iteration-plan';
import { gradedReward } from '../trajectories/graded-reward';
import { evaluationInvariants } from './evaluation-invariants';
import { ledgerInvariants } from './ledger-invariants';
import { sql } from '../database/sql';

/** `lost`: something is missing; `duplicated`: something was counted twice; `wrong`: rows contradict each other. */
export type ViolationKind = 'lost' | 'duplicated' | 'wrong';

/**
 * `rows` selects an `example` per violating row; it can read `$1`, the campaign, and `agents`, the playing roles by
 * iteration.
 */
export type Invariant = { name: string; breaks: ViolationKind; rows: string };

/** Lists the roles that play in each iteration according to the spec's recipe. */
export async function listAgents(
  pool: Pick<Pool, 'query'>,
  campaignId: number,
): Promise<{ iteration: number; role: string }[]> {
  const { rows } = await pool.query<{ iteration: number; spec: CampaignSpec }>(sql`
    select i.number as iteration, c.spec from iterations i join campaigns c on c.id = i.campaign_id
    where i.campaign_id = ${campaignId}::integer`);
  return rows.flatMap(({ iteration, spec }) => planOf(spec, iteration).agents.map((role) => ({ iteration, role })));
}

/** Committed phases that no operator skipped. */
const done = `done as (
  select iteration, phase from phases
  where campaign_id = $1::integer and finished_at is not null and coalesce((result ->> 'skipped')::integer, 0) = 0)`;

/** Planned attempts. Each RL step has separate attempts at its tasks, numbered after the previous step. */
const planned = `planned as (
  select p.iteration, p.purpose, a.role as player, p.task_id, (greatest(p.step - 1, 0) * n.attempts + n.attempt) as attempt
  from planned_tasks p join agents a on a.iteration = p.iteration,
    lateral (select (c.spec #>> '{rollouts,attempts}')::integer as attempts,
        generate_series(0, (c.spec #>> '{rollouts,attempts}')::integer - 1) as attempt
      from campaigns c where c.id = p.campaign_id) n
  where p.campaign_id = $1::integer and p.purpose = 'train'
  union all
  select p.iteration, p.purpose, 'target', p.task_id, n - 1
  from planned_tasks p join campaigns c on c.id = p.campaign_id,
    lateral generate_series(1, coalesce((c.spec #>> '{evaluation,attempts}')::integer, 1)) n
  where p.campaign_id = $1::integer and (p.purpose = 'test' or p.purpose = 'evaluation' and exists (
    select from training_runs r where r.campaign_id = p.campaign_id and r.iteration = p.iteration
      and r.role = 'target' and r.policy_id is not null))
  union all
  select p.iteration, p.purpose, 'reference', p.task_id, n - 1
  from planned_tasks p join tasks t on t.campaign_id = p.campaign_id and t.id = p.task_id
    join campaigns c on c.id = p.campaign_id, lateral generate_series(1, case p.purpose
      when 'solving' then (c.spec #>> '{synthesis,solverAttempts}')::integer else 1 end) n
  where p.campaign_id = $1::integer and p.purpose in ('expert', 'validation', 'solving')
    and jsonb_array_length(t.reference_actions) > 0)`;

/**
 * Stored attempts by playing role. An imported policy is shared by several roles at first, and its attempt is played
 * once for all of them, so the roles follow from the policy's active roles in that iteration.
 */
const played = `acting as (
  select iteration, role, policy_id from training_runs where campaign_id = $1::integer
  union
  select r.iteration, r.role, s.policy_id from rl_steps s join training_runs r on r.job_key = s.job_key
  where r.campaign_id = $1::integer
  union
  select a.iteration, a.role, (
    select p.candidate_id from promotions p
    where p.campaign_id = $1::integer and p.role = a.role and p.decision = 'promote' and p.iteration < a.iteration
    order by p.iteration desc limit 1)
  from agents a
), played as (
  select t.iteration, t.purpose, case when t.policy_id is null then 'reference' else coalesce(a.role, 'unknown') end as player,
    t.task_id, t.attempt::integer as attempt, count(*) as times
  from trajectories t
  left join acting a on a.iteration = t.iteration and a.policy_id = t.policy_id
    and (a.role = 'target' or a.role <> 'base' and t.purpose not in ('evaluation', 'test'))
  where t.campaign_id = $1::integer
  group by 1, 2, 3, 4, 5)`;

const phaseOfPurpose = `case when purpose in ('evaluation', 'test') then array['evaluate']
  when purpose in ('validation', 'solving') then array['validate'] else array['rollout', 'optimize'] end`;
const attemptText = `iteration || '/' || purpose || '/' || player || '/' || task_id || '/' || attempt`;

const order = phases.map((phase, index) => `('${phase}', ${index})`).join(', ');

/** Rows with the epoch in which they were written. */
const epochRows = ['trajectories', 'feedback_signals', 'preference_pairs', 'policies', 'promotions', 'evaluations']
  .map(
    (table) =>
      `select '${table}' as source, iteration, epoch, recorded_at from ${table} where campaign_id = $1::integer`,
  )
  .concat(`select 'tasks', created_iteration, epoch, recorded_at from tasks where campaign_id = $1::integer`)
  .join(' union all ');

export const invariants: readonly Invariant[] = [
  {
    name: 'every planned attempt of a committed phase is stored',
    breaks: 'lost',
    rows: `with ${done}, ${planned}, ${played}
      select ${attemptText} as example
      from (select iteration, purpose, player, task_id, attempt from planned
        except select iteration, purpose, player, task_id, attempt from played) missing
      where exists (select from done where done.iteration = missing.iteration
        and done.phase = any (${phaseOfPurpose}))`,
  },
  {
    name: 'every stored attempt was planned and is stored once',
    breaks: 'duplicated',
    rows: `with ${planned}, ${played}
      select ${attemptText} || ' is stored ' || times || ' times' as example from played where times > 1
      union all
      select ${attemptText} || ' was not planned' from (select iteration, purpose, player, task_id, attempt from played
        except select iteration, purpose, player, task_id, attempt from planned) more`,
  },
  {
    name: 'the turns of every attempt are stored without gap',
    breaks: 'lost',
    rows: `select t.id || ' has ' || count(s.ordinal) || ' of ' || t.turn_count || ' turns' as example
      from trajectories t
      left join trajectory_turns s on s.campaign_id = t.campaign_id and s.trajectory_id = t.id
      where t.campaign_id = $1::integer
      group by t.id, t.turn_count
      having count(s.ordinal) <> t.turn_count or coalesce(min(s.ordinal), 0) <> 0
        or coalesce(max(s.ordinal), -1) <> t.turn_count - 1`,
  },
  {
    name: 'the chosen attempt of a pair has the higher reward of two scored attempts at its task',
    breaks: 'wrong',
    rows: `select p.id as example from preference_pairs p
      left join trajectories c on c.campaign_id = p.campaign_id and c.id = p.chosen_id
      left join trajectories r on r.campaign_id = p.campaign_id and r.id = p.rejected_id
      left join tasks k on k.campaign_id = p.campaign_id and k.id = p.task_id
      where p.campaign_id = $1::integer and (c.task_id = p.task_id and r.task_id = p.task_id
        and c.outcome = 'scored' and r.outcome = 'scored' and ${gradedReward('c', 'k')} = p.chosen_reward
        and ${gradedReward('r', 'k')} = p.rejected_reward and p.chosen_reward > p.rejected_reward
        and greatest(c.iteration, r.iteration) <= p.iteration) is not true`,
  },
  {
    name: 'every signal refers to a scored attempt of its iteration at its task',
    breaks: 'wrong',
    rows: `select s.id as example from feedback_signals s
      left join trajectories t on t.campaign_id = s.campaign_id and t.id = s.trajectory_id
      where s.campaign_id = $1::integer
        and (t.task_id = s.task_id and t.iteration = s.iteration and t.outcome = 'scored') is not true`,
  },
  {
    name: 'every candidate of a committed validate phase is decided',
    breaks: 'lost',
    rows: `with ${done} select t.id as example from tasks t
      join done d on d.iteration = t.created_iteration and d.phase = 'validate'
      where t.campaign_id = $1::integer and t.verdict = 'candidate'`,
  },
  {
    name: 'a training run with a dataset has every example of the dataset',
    breaks: 'lost',
    rows: `select r.job_key || ' has ' || count(e.ordinal) || ' of ' || r.dataset_rows || ' examples' as example
      from training_runs r
      left join training_examples e on e.campaign_id = r.campaign_id and e.job_key = r.job_key
      where r.campaign_id = $1::integer and r.dataset_sha256 is not null and r.method <> 'init'
      group by r.job_key, r.dataset_rows having count(e.ordinal) <> r.dataset_rows`,
  },
  {
    name: 'a succeeded run has its policy, and every policy has a run and an earlier parent',
    breaks: 'lost',
    rows: `with ${done}
      select r.job_key || ' has no policy' as example from training_runs r
      where r.campaign_id = $1::integer and r.status = 'succeeded'
        and exists (select from done d where d.iteration = r.iteration and d.phase in ('train', 'optimize'))
        and not exists (select from policies p where p.campaign_id = r.campaign_id and p.id = r.policy_id)
      union all
      select p.id || ' has no parent or run' from policies p
      left join policies b on b.campaign_id = p.campaign_id and b.id = p.parent_id
      left join training_runs r on r.job_key = p.training_run and r.campaign_id = p.campaign_id
      where p.campaign_id = $1::integer
        and (r.job_key is null or (p.parent_id is not null and (b.iteration <= p.iteration) is not true))`,
  },
  {
    name: 'the active policy is the last promoted one, and every decision was made against the active policy',
    breaks: 'wrong',
    rows: `with decided as (
        select role, iteration, candidate_id, incumbent_id, decision,
          lag(case decision when 'promote' then candidate_id else incumbent_id end)
            over (partition by role order by iteration) as active,
          row_number() over (partition by role order by iteration desc) as nth
        from promotions where campaign_id = $1::integer)
      select role || ' of iteration ' || iteration || ' was not compared with the active policy' as example
      from decided where incumbent_id is distinct from active
      union all
      select d.role || ' is active without a promotion' from decided d
      left join active_policies h on h.campaign_id = $1::integer and h.role = d.role
      where d.nth = 1
        and h.policy_id is distinct from case d.decision when 'promote' then d.candidate_id else d.incumbent_id end`,
  },
  {
    name: 'no row has a future epoch, and none of an older epoch is written after the first row of a newer one',
    breaks: 'wrong',
    rows: `with written as (${epochRows})
      select w.source || ' of iteration ' || w.iteration || ', epoch ' || w.epoch as example
      from written w join iterations i on i.campaign_id = $1::integer and i.number = w.iteration
      where w.epoch > i.epoch
        or w.recorded_at > (select min(n.recorded_at) from written n where n.iteration = w.iteration and n.epoch > w.epoch)`,
  },
  {
    name: 'phases run in order, each after the previous one was committed',
    breaks: 'wrong',
    rows: `with positions as (select * from (values ${order}) as o (phase, position)),
      run as (
        select p.iteration, p.phase, o.position, p.started_at, p.finished_at,
          lag(p.finished_at) over w as before, row_number() over w as nth
        from phases p join positions o using (phase) where p.campaign_id = $1::integer
        window w as (partition by p.iteration order by o.position))
      select 'phase ' || phase || ' of iteration ' || iteration as example from run
      where nth > 1 and (before is null or before > started_at)
      union all
      select 'iteration ' || i.number || ' started before the previous one finished' from iterations i
      join iterations b on b.campaign_id = i.campaign_id and b.number = i.number - 1
      where i.campaign_id = $1::integer and (b.finished_at <= i.started_at) is not true`,
  },
  {
    name: 'a finished campaign has finished every iteration of its spec and committed every started phase',
    breaks: 'lost',
    rows: `select 'iteration ' || n || ' of ' || c.name || ' is not finished' as example
      from campaigns c, generate_series(0, (c.spec ->> 'iterations')::integer) n
      where c.id = $1::integer and c.status = 'finished'
        and not exists (select from iterations i where i.campaign_id = c.id and i.number = n and i.finished_at is not null)
      union all
      select 'phase ' || p.phase || ' of iteration ' || p.iteration || ' is not committed'
      from campaigns c join phases p on p.campaign_id = c.id
      where c.id = $1::integer and c.status = 'finished' and p.finished_at is null`,
  },
  {
    name: 'the journal of open attempts has no rows of an ended iteration or campaign',
    breaks: 'wrong',
    rows: `select t.trajectory_id as example from turn_journal t
      join iterations i on i.campaign_id = t.campaign_id and i.number = t.iteration
      join campaigns c on c.id = t.campaign_id
      where t.campaign_id = $1::integer
        and (i.finished_at is not null or c.status in ('finished', 'stopped', 'aborted'))
      group by t.trajectory_id`,
  },
  ...evaluationInvariants,
  ...ledgerInvariants,
];
