import { approveCampaign } from '../../client/approve-campaign';
import { raiseBudget } from '../../client/campaign-budget';
import { chooseDefaults } from '../../client/choose-defaults';
import type { Connections } from '../../client/connections';
import { startFork } from '../../client/fork-campaign';
import { sendOperatorCommand } from '../../client/send-command';
import { startCampaign } from '../../client/start-campaign';
import { DomainError } from '../../domain/errors';
import { UsageError } from '../../errors/errors';
import { readChange } from '../../specification/read-change';
import { parseLayer, readGivenLayers } from '../../specification/read-spec';
import type { SpecChange } from '../../specification/spec-layers';
import type { OrderBody } from './order-body';

type Giving = { actor: string; onProgress: (line: string) => void };

/**
 * Gives an order as the command line does, by the same functions. Safe to repeat.
 *
 * @returns the result of the command
 * @throws the errors of the command
 */
export async function giveOrder(connections: Connections, order: OrderBody, giving: Giving): Promise<unknown> {
  const { campaign, reason } = order;
  const { actor } = giving;
  switch (order.kind) {
    case 'start':
      return startOrder(connections, order, giving.onProgress);
    case 'fork': {
      const request = { iteration: order.from_iteration, name: campaign, changes: order.set };
      return startFork(connections, order.source, request, actor);
    }
    case 'approve': {
      const { summary } = await approveCampaign(connections, campaign, {
        reject: order.reject,
        keep: order.keep,
        actor,
      });
      return { summary };
    }
    case 'raise-budget': {
      const { tokens, usd, request_id: requestId } = order;
      return raiseBudget(connections, campaign, { tokens, usd, requestId, actor });
    }
    default: {
      const { status } = await sendOperatorCommand(connections, campaign, order.kind, { reason, ...giving });
      return { status };
    }
  }
}

async function startOrder(
  connections: Connections,
  { campaign, spec: given, set }: Extract<OrderBody, { kind: 'start' }>,
  onProgress: Giving['onProgress'],
): Promise<unknown> {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const read = readGivenLayers([parseLayer(text, 'spec')], 'spec', set.map(changeOf));
  if (read.spec.name !== campaign)
    throw new DomainError(
      'InvalidSpec',
      `spec.name: found ${JSON.stringify(read.spec.name)}, expected ${JSON.stringify(campaign)} as in campaign`,
    );
  const { spec } = await chooseDefaults(connections.config, read);
  const warnings: string[] = [];
  const onLine = (line: string): void => void warnings.push(line);
  const { workflowId, outcome } = await startCampaign(connections, spec, onLine, onLine);
  for (const line of warnings) onProgress(`${campaign}: ${line}`);
  return { workflowId, outcome, warnings };
}

function changeOf(text: string): SpecChange {
  const read = readChange(text);
  if ('problem' in read) throw new UsageError(read.problem);
  return read;
}
