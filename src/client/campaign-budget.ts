import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors/errors';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { hasEnded } from '../store/campaign/campaigns';
import type { Budget, Spending } from '../store/spending/budgets';
import type { TrainingCost } from '../store/spending/ledger';
import type { ModelSpending, UnconfirmedRequest, Waste } from '../store/spending/model-spending';
import { campaignUpdates } from '../workflows/temporal/messages';
import { requireRun } from './campaign-run';
import { operatorName, type Connections } from './connections';

export type BudgetDetails = Budget & {
  spent: ModelSpending[];
  waste: Waste;
  unconfirmed: UnconfirmedRequest[];
  /** Its GPU costs are part of the committed dollars too. */
  training: TrainingCost;
};

/** @throws DomainError `UnknownCampaign` */
export async function readBudget({ store }: Connections, name: string): Promise<BudgetDetails> {
  const { id } = await store.campaigns.getByName(name);
  return {
    ...(await store.budgets.get(id)),
    spent: await store.modelCalls.listSpending(id),
    waste: await store.modelCalls.getWaste(id),
    unconfirmed: await store.modelCalls.listUnconfirmed(id),
    training: await store.ledger.getTrainingCost(id),
  };
}

export type BudgetRaise = {
  tokens?: number | undefined;
  /** US dollars. */
  usd?: number | undefined;
  /** A raise with the same id is applied once. */
  requestId?: string | undefined;
  /** Name of the operator for the log of events; default: the user of this process. */
  actor?: string;
};

/** `resumed`: the campaign was parked and continues. */
export type RaisedBudget = { budget: Budget; resumed: boolean };

/**
 * Raises the limits of a campaign and resumes the campaign when it is parked.
 *
 * @throws UsageError without an amount; DomainError `CampaignEnded`, `UnknownCampaign`, `NotRunning`,
 *   `PausedInTemporal`, or the store's for a missing limit
 */
export async function raiseBudget(
  connections: Connections,
  name: string,
  { tokens, usd, requestId, actor = operatorName() }: BudgetRaise,
): Promise<RaisedBudget> {
  if (tokens === undefined && usd === undefined)
    throw new UsageError('budget raise: found no amount, expected --tokens, --usd or both');
  const { store } = connections;
  const row = await store.campaigns.getByName(name);
  const { id, status: before } = row;
  if (hasEnded(before))
    throw new DomainError('CampaignEnded', `${name} has ended (${before}): a campaign that has ended spends nothing`);
  await requireRun(connections, row);
  const added: Partial<Spending> = {
    ...(tokens === undefined ? {} : { llmTokens: tokens }),
    ...(usd === undefined ? {} : { usd }),
  };
  const budget = await store.budgets.raise(id, { ...added, actor, requestId: requestId ?? randomUUID() });
  const resumed = (await store.campaigns.getByName(name)).status === 'parked';
  if (resumed) {
    const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name));
    await handle.executeUpdate(campaignUpdates.resume, { args: [{ actor, reason: 'budget raised' }] });
  }
  return { budget, resumed };
}
