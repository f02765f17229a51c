import type pg from 'pg';

export type Phase = {
  iteration: number;
  phase: string;
  startedAt: Date;
  finishedAt: Date | null; // null: under way, or cut off
  result: Record<string, unknown> | null; // counts
};

/** The phases of every iteration in the order in which they began. */
export async function listPhases(client: pg.ClientBase, campaignId: number): Promise<Phase[]> {
  const { rows } = await client.query<Phase>(
    `select iteration, phase, started_at as "startedAt", finished_at as "finishedAt", result
       from phases
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

/** Who did what to the campaign; the newest two hundred, oldest first. */
export async function listEvents(client: pg.ClientBase, campaignId: number): Promise<CampaignEvent[]> {
  const { rows } = await client.query<CampaignEvent>(
    `select * from (
       select id, iteration, kind, actor, detail, recorded_at as "recordedAt"
         from events
        where campaign_id = $1::int
        order by id desc
        limit 200) newest
      order by id`,
    [campaignId],
  );
  return rows.map(({ iteration, kind, actor, detail, recordedAt }) => ({ iteration, kind, actor, detail, recordedAt }));
}
