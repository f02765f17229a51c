import { parkedCode, type ParkedCode } from '../../domain/campaign/parked-reasons';
import type { CampaignStatus } from '../../store/campaign/campaigns';
import { notifyOperators, type Dependencies } from '../context/dependencies';

export type OperatorCommandEntry = {
  campaignId: number;
  status: CampaignStatus;
  kind: string;
  actor: string;
  reason: string | null;
  /** Code of the reason for which the campaign parked. */
  code?: ParkedCode | null;
  /** Address of the server whose answer ends the parking. */
  awaits?: string;
  /** Idempotency key in the campaign: a repeated key writes nothing. Absent in campaigns of older code. */
  key?: string;
  /** Phase and iteration that the command applies to. */
  phase?: string;
  iteration?: number;
};

/** Stores an operator command with its actor, and the resulting status of the campaign. */
export const recordOperatorCommand =
  ({ store, notify }: Pick<Dependencies, 'store' | 'notify'>) =>
  async (entry: OperatorCommandEntry): Promise<void> => {
    const { campaignId, status, kind, actor, iteration, reason, phase, key, awaits } = entry;
    const code = kind === 'parked' ? parkedCode({ parked: reason, parkedCode: entry.code }) : null;
    await store.campaigns.setStatus(campaignId, status);
    await store.campaigns.recordEvent(campaignId, {
      kind,
      actor,
      detail: { reason, ...(code ? { code } : {}), ...(awaits ? { awaits } : {}), ...(phase ? { phase } : {}) },
      ...(iteration === undefined ? {} : { iteration }),
      ...(key ? { key } : {}),
    });
    if (kind === 'parked' || kind === 'continued')
      await notifyOperators({ store, notify }, campaignId, { status, code, reason, awaits });
  };
