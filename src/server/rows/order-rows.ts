import { facts, text, time, z } from './columns';

export const OrderRow = z
  .object({
    request_id: text,
    kind: text,
    campaign: text,
    actor: text,
    reason: text,
    state: z.enum(['asked', 'accepted', 'done']),
    asked_at: time,
    accepted_at: time.nullable(),
    done_at: time.nullable(),
    input: facts,
    answer: z.unknown(),
  })
  .openapi('Order');
