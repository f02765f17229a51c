import { z } from '@hono/zod-openapi';

/** A text of Postgres, which has no NUL. */
const textTo = (max: number) =>
  z.string().regex(new RegExp(`^[^\\u0000]{1,${max}}$`), `1 to ${max} characters without NUL`);

export const word = textTo(500);
export const searchedText = textTo(200).min(2);

/** A whole number from 0, at most `max`. */
const wholeTo = (max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) <= max, `a whole number from 0 to ${max}`)
    .transform(Number)
    .openapi({ type: 'integer', minimum: 0, maximum: max });

/** Iterations and other numbers of columns of two bytes. */
export const whole = wholeTo(32_767);
export const seed = wholeTo(2_147_483_647);

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
  cursor: z
    .string()
    .regex(/^[\w-]{1,4000}$/, '`next` of the page before')
    .optional()
    .openapi({ description: '`next` of the page before.' }),
};
