import { word } from '../request/parameters';
import { OrderRow } from '../rows/order-rows';
import type { Resource } from './resource';

/** Orders of clients of the API; `POST` on the same path gives one. */
export const orderResource: Resource = {
  path: '/orders',
  name: 'Order',
  summary: 'orders of clients of the API, newest first',
  view: 'orders',
  row: OrderRow,
  key: ['asked_at', 'request_id'],
  newestFirst: true,
  filters: { kind: word, campaign: word, state: OrderRow.shape.state },
  item: 'request_id',
};
