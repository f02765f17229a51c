import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { campaignCommands } from '../../domain/campaign/operator-commands';
import { dateTime, duration } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import type { Api } from '../request/context';
import { askApi } from './ask-api';
import { addressWith, campaignCrumb, home, sendPage } from './frame';
import { formFields } from './form-fields';

/** A row of orders, as the API returns it. */
export type ShownOrder = {
  kind: string;
  reason: string;
  actor: string;
  state: string;
  asked_at: string;
  done_at: string | null;
};

/** Asks the API for the order of a request; null if it has none. */
export async function findOrder(app: Api, context: Context, requestId: string | undefined): Promise<ShownOrder | null> {
  if (!requestId) return null;
  const answer = await askApi(app, context, `/api/v1/orders/${encodeURIComponent(requestId)}`);
  return answer.ok ? ((await answer.json()) as ShownOrder) : null;
}

/** `GET /c/<campaign>/order`: the form. It stands alone, because a page that loads itself again would lose its text. */
export function orderPage(context: Context): Response {
  const name = context.req.param('campaign')!;
  const here = `${campaignCrumb(name).href}/order`;
  const kinds = Object.keys(campaignCommands).map((kind) => html`<option>${kind}</option>`);
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: 'Order', href: here }],
    [
      html`<form method="post" action="${here}">
        <input type="hidden" name="request_id" value="${randomUUID()}" />
        <label
          >Order
          <select name="kind">
            ${kinds}
          </select></label
        >
        <label>Reason <input name="reason" required maxlength="1000" size="40" /></label>
        <button>Send</button>
      </form>`,
    ],
  );
}

/** `POST /c/<campaign>/order`: gives the order through the API and returns to the campaign, which shows its state. */
export async function postOrder(app: Api, context: Context): Promise<Response> {
  const campaign = context.req.param('campaign')!;
  const fields = await formFields(context);
  const [[kind], [reason], [id = '']] = [fields('kind'), fields('reason'), fields('request_id')];
  const approval = kind === 'approve' ? { reject: fields('reject'), keep: fields('keep').includes('true') } : {};
  const body = { kind, reason, request_id: id, campaign, ...approval };
  const answer = await askApi(app, context, '/api/v1/orders', JSON.stringify(body));
  const problem = answer.ok ? null : ((await answer.json()) as { error: string }).error.slice(0, 500);
  return context.redirect(addressWith(campaignCrumb(campaign).href, { order: id, problem }), 303);
}

/** The order as its row says: asked, accepted by the campaign, or done. */
export const renderOrder = ({ kind, reason, actor, state, asked_at: asked, done_at: done }: ShownOrder): Html =>
  html`<p role="status" class="order">
    ${kind} by ${actor} (${reason}): asked ${dateTime(asked)}, <strong>${state}</strong>
    ${done === null ? null : html` after ${duration((Date.parse(done) - Date.parse(asked)) / 1000)}`}
  </p>`;
