import type { Pool } from 'pg';
import type { PromotionDecision } from '../../domain/evaluation/promotion';
import type { PolicyRole } from './policies';
import { sql } from '../database/sql';

/** An operator's decision about a candidate that waits for promotion. */
export type PromotionApproval = { decision: PromotionDecision['decision']; actor: string };

export const promotionApprovalStore = (pool: Pool) => ({
  /** Stores an operator's decision. The first decision is kept and returned. */
  async save(
    campaignId: number,
    { iteration, role, decision, actor }: PromotionApproval & { iteration: number; role: PolicyRole },
  ): Promise<PromotionApproval> {
    const { rows } = await pool.query<PromotionApproval>(sql`
      insert into promotion_approvals (campaign_id, iteration, role, decision, actor)
      values (${campaignId}::integer, ${iteration}::smallint, ${role}, ${decision}, ${actor})
      on conflict (campaign_id, iteration, role) do update set role = excluded.role -- no change, returns the row
      returning decision, actor`);
    return rows[0]!;
  },

  async find(campaignId: number, iteration: number, role: PolicyRole): Promise<PromotionApproval | undefined> {
    const { rows } = await pool.query<PromotionApproval>(sql`
      select decision, actor from promotion_approvals
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and role = ${role}`);
    return rows[0];
  },
});

export type PromotionApprovalStore = ReturnType<typeof promotionApprovalStore>;
