import { z } from '@hono/zod-openapi';

export const text = z.string();
export const integer = z.number().int();
export const real = z.number();
export const flag = z.boolean();
/** UTC, in milliseconds. */
export const time = z.iso.datetime();
export const texts = z.array(text);
/** A JSON object whose keys depend on campaign and environment. */
export const facts = z.record(z.string(), z.unknown());
/** Messages of a conversation, as they were sent. */
export const messages = z.array(z.looseObject({ role: text }));

export { z };
