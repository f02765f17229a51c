import type pg from 'pg';
import type { LedgerUnit } from '../../store/spending/ledger';

export type Phase = {
  iteration: number;
  phase: string;
  startedAt: Date;
  finishedAt: Date | null; // null while it runs or after an interruption
  result: Record<string, unknown> | null; // counts
};

/** Lists the phases of all iterations in the order of their starts. */
export async function listPhases(client: pg.ClientBase, campaignId: number): Promise<Phase[]> {
  const { rows } = await client.query<Phase>(
    `select iteration, phase, started_at as "startedAt", finished_at as "finishedAt", result
       from reporting.phases
      where campaign_id = $1::int
      order by iteration, started_at, phase`,
    [campaignId],
  );
  return rows;
}

export type CampaignEvent = {
  iteration: number | null;
  kind: string;
  actor: string;
  detail: Record<string, unknown>;
  recordedAt: Date;
};

/** Lists the newest 200 events of the campaign, oldest first. */
export async function listEvents(client: pg.ClientBase, campaignId: number): Promise<CampaignEvent[]> {
  const { rows } = await client.query<CampaignEvent>(
    `select * from (
       select id, iteration, kind, actor, detail, recorded_at as "recordedAt"
         from reporting.events
        where campaign_id = $1::int
        order by id desc
        limit 200) newest
      order by id`,
    [campaignId],
  );
  return rows.map(({ iteration, kind, actor, detail, recordedAt }) => ({ iteration, kind, actor, detail, recordedAt }));
}

export type AttemptCost = {
  iteration: number;
  purpose: string;
  attempts: number;
  promptTokens: number;
  completionTokens: number;
  seconds: number; // summed over attempts, which ran concurrently
};

/** Sums the cost of attempts by iteration and purpose; replaced rollouts are not included. */
export async function listAttemptCosts(client: pg.ClientBase, campaignId: number): Promise<AttemptCost[]> {
  const { rows } = await client.query<AttemptCost>(
    `select iteration, purpose, count(*)::int as attempts, sum(prompt_tokens)::float8 as "promptTokens",
            sum(completion_tokens)::float8 as "completionTokens", sum(seconds)::float8 as seconds
       from reporting.attempts
      where campaign_id = $1::int
      group by iteration, purpose
      order by iteration, array_position(array['expert', 'train', 'validation', 'solving', 'evaluation', 'test'], purpose)`,
    [campaignId],
  );
  return rows;
}

export type LedgerGroup = { unit: LedgerUnit; entry: string; entries: number; amount: number };

/** Sums the ledger by unit and kind of entry. */
export async function listLedgerGroups(client: pg.ClientBase, campaignId: number): Promise<LedgerGroup[]> {
  const { rows } = await client.query<LedgerGroup>(
    `select unit, entry, count(*)::int as entries, sum(amount) as amount
       from reporting.spending
      where campaign_id = $1::int
      group by unit, entry
      order by unit, array_position(array['reserve', 'settle', 'release', 'found'], entry)`,
    [campaignId],
  );
  return rows;
}

export type FaultGroup = {
  iteration: number | null; // null if the attempt was not finished
  outcome: string;
  replaced: boolean; // true: the attempt was rolled out again
  faults: number;
  example: string | null;
};

/** Counts faults: those whose attempt was rolled out again, and those that are the attempt's outcome. */
export async function listFaultGroups(client: pg.ClientBase, campaignId: number): Promise<FaultGroup[]> {
  const { rows } = await client.query<FaultGroup>(
    `select f.iteration, f.outcome, f.replaced, count(*)::int as faults, min(f.fault) as example
       from (
         select iteration, outcome, false as replaced, fault
           from reporting.attempts
          where campaign_id = $1::int and outcome <> 'scored'
         union all
         select t.iteration, a.outcome, true as replaced, a.fault
           from reporting.faults a
           left join reporting.attempts t on t.campaign_id = a.campaign_id and t.id = a.attempt_id
          where a.campaign_id = $1::int) f
      group by f.iteration, f.outcome, f.replaced
      order by f.iteration nulls last, f.outcome, f.replaced`,
    [campaignId],
  );
  return rows;
}

export type ResumeGroup = {
  iteration: number;
  attempts: number; // resumed at least once
  turns: number; // replayed instead of sampled again
  mismatches: number; // replays with another observation, whose attempt started again
};

/** Counts attempts that were resumed after a crash, by iteration. */
export async function listResumeGroups(client: pg.ClientBase, campaignId: number): Promise<ResumeGroup[]> {
  const { rows } = await client.query<ResumeGroup>(
    `select iteration, (count(distinct attempt_id) filter (where outcome = 'resumed'))::int as attempts,
            coalesce(sum(turns) filter (where outcome = 'resumed'), 0)::int as turns,
            (count(*) filter (where outcome = 'mismatch'))::int as mismatches
       from reporting.resumes
      where campaign_id = $1::int
      group by iteration
      order by iteration`,
    [campaignId],
  );
  return rows;
}
