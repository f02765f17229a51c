import type { Context } from 'hono';

/** Reads a posted form. Returns the values of a field; files are none. */
export async function formFields(context: Context): Promise<(name: string) => string[]> {
  const form = await context.req.parseBody({ all: true });
  return (name) => [form[name] ?? []].flat().filter((value) => typeof value === 'string');
}
