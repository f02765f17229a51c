import { promotionNeedsApproval } from '../../domain/campaign/approval';
import { DomainError } from '../../domain/base/errors';
import type { PromotionDecision } from '../../domain/evaluation/promotion';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { CampaignRow } from '../../store/campaign/campaigns';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/**
 * A promotion as an operator decides it, where the spec asks for one; what the rule keeps needs nobody's word.
 *
 * @throws DomainError `ApprovalNeeded` until somebody has said it
 */
export async function approvedPromotion(
  { store }: Pick<Dependencies, 'store'>,
  { name, spec }: Pick<CampaignRow<CampaignSpec>, 'name' | 'spec'>,
  { campaignId, iteration }: IterationKey,
  decided: PromotionDecision,
): Promise<PromotionDecision> {
  if (!spec.promotion.approval || decided.decision === 'keep') return decided;
  const word = await store.promotionApprovals.find(campaignId, iteration, 'target');
  if (!word) throw new DomainError('ApprovalNeeded', promotionNeedsApproval(name, iteration, decided.reason));
  const said = word.decision === 'promote' ? `${word.actor} approved it` : `${word.actor} kept the one that acts`;
  return { decision: word.decision, reason: `${said}; ${decided.reason}` };
}
