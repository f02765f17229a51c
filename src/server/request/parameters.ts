import { z } from '@hono/zod-openapi';

export const word = z.string().min(1).max(500);

export const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'a whole number from 0')
  .transform(Number)
  .openapi({ type: 'integer', minimum: 0 });

/** A number in [0, 1]. */
export const share = z
  .string()
  .refine((text) => text.trim() !== '' && Number(text) >= 0 && Number(text) <= 1, 'a number from 0 to 1')
  .transform(Number)
  .openapi({ type: 'number', minimum: 0, maximum: 1 });

export const yesNo = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .openapi({ type: 'boolean' });

const limit = z
  .string()
  .refine(
    (text) => /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 1000,
    'a whole number from 1 to 1000',
  )
  .transform(Number)
  .openapi({ type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Max count of rows.' });

/** Parameters of every list. */
export const paging = {
  limit: limit.optional(),
  cursor: z.string().min(1).max(4000).optional().openapi({ description: '`next` of the page before.' }),
};
