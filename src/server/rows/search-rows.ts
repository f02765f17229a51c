import { z } from '@hono/zod-openapi';
import { Attempt } from './campaign-rows';
import { integer, text } from './columns';

const Hit = Attempt.pick({ iteration: true, purpose: true, task_id: true, role: true, outcome: true, reward: true })
  .extend({
    attempt_id: text,
    recorded_at: z.iso.datetime({ offset: true }),
    ordinal: integer.nullable().openapi({ description: 'Position of the action, from 0; null for the goal.' }),
    place: z.enum(['goal', 'action', 'observation']),
    excerpt: text.openapi({ description: 'At most 200 characters around the text; of an observation as JSON.' }),
  })
  .openapi('SearchHit');

export const SearchPage = z
  .object({
    rows: z.array(Hit),
    searched: integer.openapi({
      description: 'Attempts that this page read; others were excluded without reading them.',
    }),
    next: text.nullable().openapi({ description: 'Cursor of the next page; null when all attempts were searched.' }),
  })
  .openapi('SearchPage');
