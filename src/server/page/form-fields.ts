import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { html, type Html } from '../../tables/html';
import type { PageStatus } from './frame';

/** Returns the values of a field. */
export type Fields = (name: string) => string[];

/** Reads a posted form. Files are no values. */
export async function formFields(context: Context): Promise<Fields> {
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

/** A form whose order the API refused, as it was filled in. */
export type RefusedForm = { fields: Fields; problem: string; status: PageStatus };

/** Why a form was refused. */
export const refusal = (refused: RefusedForm | undefined): Html | null =>
  refused ? html`<p role="alert" class="problem">${refused.problem}</p>` : null;

/** The fields of every order: its reason, and an id with which a repeated form is one order. */
export const orderFields = (refused: RefusedForm | undefined): Html =>
  html`<input type="hidden" name="request_id" value="${randomUUID()}" />
    <label
      >Reason <input name="reason" required maxlength="1000" size="40" value="${refused?.fields('reason')[0] ?? ''}"
    /></label>`;
