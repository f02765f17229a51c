/** Last iteration that a fork copied, else -1: a fork's ledger does not contain the costs of copied iterations. */
const lastCopied = `coalesce((select fork_iteration from campaigns where id = $1::integer), -1)`;

/** Tolerance for sums of seconds, which depend on the order of their terms. */
const rounding = 1e-3;

/** Booked and stored amounts of each committed phase with attempts. */
const booked = `booked as (
  select p.iteration, p.phase, l.unit, max(l.amount) as booked,
    (select coalesce(sum(case l.unit when 'tokens' then t.prompt_tokens + t.completion_tokens else t.seconds end), 0)
      from trajectories t
      where t.campaign_id = p.campaign_id and t.iteration = p.iteration and t.purpose = any (case p.phase
        when 'rollout' then array['train', 'expert'] when 'optimize' then array['train']
        when 'validate' then array['validation', 'solving'] else array['evaluation', 'test'] end))::float8 as played
  from phases p
  join (values ('tokens'), ('seconds')) as u (unit) on true
  left join ledger e on e.campaign_id = p.campaign_id and e.key = 'iteration/' || p.iteration || '/' || p.phase
    and e.entry = 'settle' and e.unit = u.unit
  cross join lateral (select u.unit, coalesce(e.amount, 0) as amount) l
  where p.campaign_id = $1::integer and p.iteration > ${lastCopied} and p.finished_at is not null
    and p.phase in ('rollout', 'optimize', 'validate', 'evaluate')
    and coalesce((p.result ->> 'skipped')::integer, 0) = 0
  group by p.campaign_id, p.iteration, p.phase, l.unit)`;

const bookedText = `'iteration ' || iteration || ', ' || phase || ': booked ' || booked || ' ' || unit || ', played ' || played`;

/** Invariants of the ledger: every cost is booked once, and an ended campaign has no reservations. */
export const ledgerInvariants = [
  {
    name: 'all attempts of a committed phase are booked',
    breaks: 'lost',
    rows: `with ${booked} select ${bookedText} as example from booked where booked < played - ${rounding} * (1 + played)`,
  },
  {
    name: 'no attempt of a committed phase is booked twice',
    breaks: 'duplicated',
    rows: `with ${booked} select ${bookedText} as example from booked where booked > played + ${rounding} * (1 + played)`,
  },
  {
    name: 'a succeeded training run is booked with at least its tokens',
    breaks: 'lost',
    rows: `select r.job_key as example from training_runs r
      left join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.unit = 'tokens'
        and l.entry = case when r.found_from is null then 'settle' else 'found' end
      where r.campaign_id = $1::integer and r.iteration > ${lastCopied} and r.status = 'succeeded' and r.method <> 'import'
        and (l.amount >= r.tokens) is not true`,
  },
  {
    name: 'a found policy costs its campaign nothing',
    breaks: 'duplicated',
    rows: `select r.job_key || ' was found and has paid ' || l.amount || ' ' || l.unit as example
      from training_runs r
      join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry <> 'found' and l.amount > 0
      where r.campaign_id = $1::integer and r.found_from is not null`,
  },
  {
    name: 'an ended campaign has no open reservation',
    breaks: 'wrong',
    rows: `select key || ': ' || unit as example from ledger l
      join campaigns c on c.id = l.campaign_id and c.status in ('finished', 'stopped', 'aborted')
      where l.campaign_id = $1::integer
      group by key, unit
      having sum(amount) filter (where entry = 'reserve')
        > coalesce(sum(amount) filter (where entry <> 'reserve'), 0) + 1e-9
      union all
      select t.call_id || '/' || t.ordinal from model_requests t
      join campaigns c on c.id = t.campaign_id and c.status in ('finished', 'stopped', 'aborted')
      where t.campaign_id = $1::integer and t.outcome is null`,
  },
] as const;
