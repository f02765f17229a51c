import type { Context } from 'hono';
import { html, type Html } from '../../tables/html';

/** Reads a posted form. Returns the values of a field; files are none. */
export async function formFields(context: Context): Promise<(name: string) => string[]> {
  const form = await context.req.parseBody({ all: true });
  return (name) => [form[name] ?? []].flat().filter((value) => typeof value === 'string');
}

/** A list to choose from: values, or values with the names that are shown. */
export const select = (name: string, options: readonly (string | readonly [string, string])[], chosen: string): Html =>
  html`<select name="${name}">
    ${options.map((option) => {
      const [value, shown] = typeof option === 'string' ? [option, option] : option;
      return value === chosen
        ? html`<option value="${value}" selected>${shown}</option>`
        : html`<option value="${value}">${shown}</option>`;
    })}
  </select>`;
