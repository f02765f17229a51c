import type { Context } from 'hono';
import type { z } from 'zod';
import { readCampaignNow, type CampaignNow } from '../../client/campaign-status';
import type { Connections } from '../../client/connections';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { counted } from '../../domain/formats';
import { withCode } from '../../report/page/blocks';
import { html, type Content, type Html } from '../../tables/html';
import type { Api } from '../request/context';
import type { Task } from '../rows/campaign-rows';
import { askAll } from './ask-api';
import { orderFields, refusal, type RefusedForm } from './form-fields';
import { addressWith, campaignCrumb, home, sendPage } from './frame';

type Row = z.infer<typeof Task>;

/** `/c/<campaign>/approvals`: the tasks or the policy that wait for an operator. */
export async function approvalsPage(
  { app, connections }: { app: Api; connections: Connections },
  context: Context,
  refused?: RefusedForm,
): Promise<Response> {
  const now = await readCampaignNow(connections, context.req.param('campaign')!);
  const filters = { verdict: 'candidate', created_iteration: String(now.progress.iteration), detail: 'true' };
  const tasks = await askAll<Row>(app, context, `/api/v1/campaigns/${now.name}/tasks`, filters);
  const operator = context.get('role') === 'operate' ? { name: now.name, refused } : null;
  return sendPage(
    context,
    [home, campaignCrumb(now.name), { name: 'Approvals', href: '' }],
    [refusal(refused), approvals(now, tasks, operator)],
    { status: refused?.status ?? 200 },
  );
}

/** Who may decide, and the form that was refused. Readers are null and get no form. */
type Operator = { name: string; refused: RefusedForm | undefined } | null;

function approvals(now: CampaignNow, tasks: readonly Row[], operator: Operator): Html {
  const { phase, parked } = now.progress;
  const waits = now.status === 'parked' && parkedCode(now.progress) === 'ApprovalNeeded';
  if (waits && phase === 'evaluate')
    return html`<p class="lead">A trained policy waits for its promotion.</p>
      <p>${withCode(parked ?? '')}</p>
      <p><a href="${campaignCrumb(now.name).href}/flips">tasks that flipped</a></p>
      ${
        operator &&
        form(operator, null, [
          ['promote', 'Promote it'],
          ['keep', 'Keep the active policy'],
        ])
      }`;
  const undecided = counted(tasks.length, 'task');
  if (!waits)
    return html`<p class="lead">Nothing waits for approval. ${undecided} not decided yet.</p>
      ${tasks.map((task) => articleOf(now.name, task, null))}`;
  const marked = new Set(operator?.refused?.fields('reject'));
  const listed = tasks.map((task) => articleOf(now.name, task, operator && checkbox(task.id, marked.has(task.id))));
  return html`<p class="lead">${undecided} not decided yet. Mark those to reject; the others are admitted.</p>
    ${operator ? form(operator, listed, [['admit', 'Approve']]) : listed}`;
}

/** `verdicts`: values and names of the buttons. */
const form = (
  { name, refused }: NonNullable<Operator>,
  body: Content,
  verdicts: readonly (readonly [string, string])[],
): Html =>
  html`<form method="post" action="${campaignCrumb(name).href}/order">
    <input type="hidden" name="kind" value="approve" />
    ${body} ${orderFields(refused)}
    ${verdicts.map(([value, text]) => html`<button name="verdict" value="${value}">${text}</button>`)}
  </form>`;

const checkbox = (id: string, isMarked: boolean): Html =>
  html`<label><input type="checkbox" name="reject" value="${id}" ${isMarked ? html`checked` : null} /> reject</label>`;

function articleOf(
  campaign: string,
  { id, goal, parent_signal: signal, parent_task_id: parent, reference_actions: actions }: Row,
  box: Html | null,
): Html {
  const attempts = addressWith(`${campaignCrumb(campaign).href}/attempts`, { task_id: id });
  return html`<article class="comparison">
    ${box}
    <p class="goal">${goal} <code>${id}</code></p>
    <p><a href="${attempts}">attempts and observations</a></p>
    ${signal === null ? null : html`<p class="note">aimed at ${signal} of ${parent}</p>`}
    ${(Array.isArray(actions) ? actions : []).map((action) => html`<pre class="action">${action}</pre>`)}
  </article>`;
}
