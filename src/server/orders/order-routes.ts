import { createRoute, type z } from '@hono/zod-openapi';
import { operatorName, type Connections } from '../../client/connections';
import { orderStore } from '../../store/campaign/orders';
import { readPage } from '../../store/reporting/read-page';
import { sql } from '../../store/database/sql';
import { failureOf, type FailureKind } from '../../errors/failure';
import type { Api } from '../request/context';
import { problemResponses } from '../request/problem';
import { OrderRow } from '../rows/order-rows';
import { giveOrder } from './give-order';
import { OrderBody } from './order-body';

/** Failures that change nothing. After another one, such as a server that does not answer, the order may have been accepted. */
const refusals = new Set<FailureKind>(['usage', 'not-found', 'refused', 'parked']);

/** A client that waits longer gets the order as it is then, and finds its end by a repeated request or by its row. */
const waitMs = 20_000;

/** Adds `POST /api/v1/orders`. */
export function addOrders(api: Api, connections: Connections, log: (line: string) => void): void {
  const store = orderStore(connections.pool);
  const running = new Map<string, Promise<void>>();

  const give = async (order: OrderBody, actor: string): Promise<void> => {
    const { request_id: requestId, kind, campaign, reason, actor: _actor, ...input } = order;
    if (await store.ask({ requestId, kind, campaign, reason, actor, input })) return;
    try {
      const answer = await giveOrder(connections, order, { actor, onProgress: log });
      await store.accept(requestId, answer);
    } catch (error) {
      if (refusals.has(failureOf(error).kind)) await store.withdraw(requestId);
      throw error;
    }
  };

  const route = createRoute({
    method: 'post',
    path: '/api/v1/orders',
    operationId: 'giveOrder',
    summary: 'give an order to a campaign; safe to repeat with the same request id',
    request: { body: { required: true, content: { 'application/json': { schema: OrderBody } } } },
    responses: {
      200: { description: 'accepted or done', content: { 'application/json': { schema: OrderRow } } },
      202: {
        description: 'asked: the campaign has not accepted it yet',
        content: { 'application/json': { schema: OrderRow } },
      },
      ...problemResponses(400, 404, 409, 413),
    },
  });
  api.openapi(route, async ({ req, json }) => {
    const order = req.valid('json');
    const { request_id: requestId } = order;
    const before = running.get(requestId);
    if (before) await before.catch(() => undefined); // then the row decides, also about another body with the same id
    const given = give(order, `${order.actor ?? operatorName()} (API)`);
    running.set(requestId, given);
    const end = given.finally(() => running.delete(requestId));
    const status = (await withinTime(end)) ? 200 : 202;
    const row = await readOrder(connections, requestId);
    if (!row) await end; // refused meanwhile
    return json(row!, status);
  });
}

/** Returns false when the promise is pending after the time that a client waits; its later failure is in the row, which is deleted. */
async function withinTime(end: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), waitMs)));
  end.catch(() => undefined);
  try {
    return await Promise.race([end.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function readOrder({ pool }: Connections, requestId: string): Promise<z.infer<typeof OrderRow> | undefined> {
  const columns = Object.keys(OrderRow.shape);
  const conditions = [sql`t.request_id = ${requestId}`];
  const { rows } = await readPage(pool, {
    view: 'orders',
    columns,
    key: ['request_id'],
    conditions,
    descending: false,
    limit: 1,
  });
  return rows[0] as z.infer<typeof OrderRow> | undefined;
}
