import type { Context } from 'hono';
import { readCampaignNow, type CampaignNow } from '../../client/campaign-status';
import type { Connections } from '../../client/connections';
import { campaignCommands, type CampaignCommandName } from '../../domain/campaign/operator-commands';
import { ordersAfter } from '../../domain/campaign/parked-hints';
import { dateTime, duration } from '../../domain/formats';
import { badge } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import type { Api } from '../request/context';
import { approvalsPage } from './approvals-page';
import { askApi } from './ask-api';
import { addressWith, campaignCrumb, home, sendPage, type PageStatus } from './frame';
import { formFields, orderFields, refusal, select, type Fields, type RefusedForm } from './form-fields';
import { waits } from './waits';

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

/** `GET /c/<campaign>/order`: the forms. They stand alone, because a page that loads itself again would lose their text. */
export async function orderPage(connections: Connections, context: Context, refused?: RefusedForm): Promise<Response> {
  const now = await readCampaignNow(connections, context.req.param('campaign')!);
  const { limit } = now.progress.spending ?? {};
  const given: Given = (name) => refused?.fields(name)[0] ?? context.req.query(name);
  const form = (id: string, title: string, fields: Html): Html =>
    html`<h2 id="${id}">${title}</h2>
      <form method="post" action="${campaignCrumb(now.name).href}/order">
        ${fields} ${orderFields(refused)} <button>Send</button>
      </form>`;
  return sendPage(
    context,
    [home, campaignCrumb(now.name), { name: 'Order', href: '' }],
    [
      html`<p class="state">${badge(now.status)}</p>`,
      waits(now, false),
      refusal(refused),
      form(
        'command',
        'Command',
        html`<label>Order ${select('kind', commands, given('kind') ?? likelyOrder(now))}</label>`,
      ),
      form('fork', 'Fork with other settings', forkFields(now, given)),
      limit?.usd || limit?.llmTokens ? form('raise-budget', 'Raise the budget', budgetFields(given)) : null,
    ],
    { status: refused?.status ?? 200 },
  );
}

const commands = Object.entries(campaignCommands).map(
  ([kind, { description }]) => [kind, `${kind}: ${description}`] as const,
);

function likelyOrder(now: CampaignNow): CampaignCommandName {
  if (now.status === 'paused') return 'resume';
  return now.status === 'parked' ? (ordersAfter(now).find(isCommand) ?? 'stop') : 'pause';
}

const isCommand = <Kind extends string>(kind: Kind): kind is Kind & CampaignCommandName => kind in campaignCommands;

/** Returns the value that a field begins with. */
type Given = (name: string) => string | undefined;

const forkFields = ({ name, progress }: CampaignNow, given: Given): Html =>
  html`<input type="hidden" name="kind" value="fork" />
    <label>Name <input name="name" required maxlength="63" value="${given('name') ?? `${name}-fork`}" /></label>
    <label
      >After iteration
      <input
        name="from_iteration"
        type="number"
        min="0"
        required
        value="${given('from_iteration') ?? Math.max(0, progress.iteration - 1)}"
    /></label>
    <label
      >Changes, one per line
      <textarea name="set" rows="2" cols="50" placeholder="training.target.learningRate=0.0005">
${given('set') ?? ''}</textarea>
    </label>`;

const budgetFields = (given: Given): Html =>
  html`<input type="hidden" name="kind" value="raise-budget" />
    <label>Tokens to add <input name="tokens" type="number" min="1" value="${given('tokens') ?? ''}" /></label>
    <label
      >US dollars to add <input name="usd" type="number" min="0" step="any" value="${given('usd') ?? ''}"
    /></label>`;

/**
 * `POST /c/<campaign>/order`: gives the order through the API and returns to its campaign, which shows its state. A refused
 * form is shown again as it was filled in.
 */
export async function postOrder(
  { app, connections }: { app: Api; connections: Connections },
  context: Context,
): Promise<Response> {
  const fields = await formFields(context);
  const order = orderOf(context.req.param('campaign')!, fields);
  const answer = await askApi(app, context, '/api/v1/orders', JSON.stringify(order));
  if (answer.ok)
    return context.redirect(addressWith(campaignCrumb(order.campaign).href, { order: order.request_id }), 303);
  const { error } = (await answer.json()) as { error: string };
  const refused = { fields, problem: error, status: answer.status as PageStatus };
  return order.kind === 'approve'
    ? approvalsPage({ app, connections }, context, refused)
    : orderPage(connections, context, refused);
}

/** Returns the order of a form of a campaign's page, as a body for the API, which checks it. */
function orderOf(campaign: string, fields: Fields) {
  const value = (name: string): string => fields(name)[0] ?? '';
  const numberOf = (name: string): number | undefined => (value(name) === '' ? undefined : Number(value(name)));
  const common = { kind: value('kind'), campaign, reason: value('reason'), request_id: value('request_id') };
  if (common.kind === 'approve') return { ...common, reject: fields('reject'), keep: value('verdict') === 'keep' };
  if (common.kind === 'raise-budget') return { ...common, tokens: numberOf('tokens'), usd: numberOf('usd') };
  if (common.kind !== 'fork') return common;
  const set = value('set').split(/\r?\n/).filter((line) => line.trim() !== ''); // oxfmt-ignore
  const from = { source: campaign, from_iteration: numberOf('from_iteration') };
  return { ...common, ...from, campaign: value('name'), set };
}

/** The order as its row says: asked, accepted by the campaign, or done. */
export const renderOrder = ({ kind, reason, actor, state, asked_at: asked, done_at: done }: ShownOrder): Html =>
  html`<p role="status" class="order">
    ${kind} by ${actor} (${reason}): asked ${dateTime(asked)}, <strong>${state}</strong>
    ${done === null ? null : html` after ${duration((Date.parse(done) - Date.parse(asked)) / 1000)}`}
  </p>`;
