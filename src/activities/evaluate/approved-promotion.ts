import { promotionNeedsApproval } from '../../domain/campaign/approval';
import { DomainError } from '../../domain/errors';
import type { PromotionDecision } from '../../domain/evaluation/promotion';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { CampaignRow } from '../../store/campaign/campaigns';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/**
 * Returns the operator's decision on a promotion if the spec requires an approval. A decision to keep the incumbent needs
 * no approval.
 *
 * @throws DomainError `ApprovalNeeded` until an operator has decided
 */
export async function approvedPromotion(
  { store }: Pick<Dependencies, 'store'>,
  { name, spec }: Pick<CampaignRow<CampaignSpec>, 'name' | 'spec'>,
  { campaignId, iteration }: IterationKey,
  decided: PromotionDecision,
): Promise<PromotionDecision> {
  if (!spec.promotion.approval || decided.decision === 'keep') return decided;
  const approval = await store.promotionApprovals.find(campaignId, iteration, 'target');
  if (!approval) throw new DomainError('ApprovalNeeded', promotionNeedsApproval(name, iteration, decided.reason));
  const { decision, actor } = approval;
  const verdict = decision === 'promote' ? `${actor} approved the candidate` : `${actor} kept the incumbent`;
  return { decision, reason: `${verdict}; ${decided.reason}` };
}
