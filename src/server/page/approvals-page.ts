import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import type { z } from 'zod';
import { counted } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import type { Api } from '../request/context';
import type { Task } from '../rows/campaign-rows';
import { askAll } from './ask-api';
import { campaignCrumb, home, sendPage } from './frame';

type Row = z.infer<typeof Task>;

/** `/c/<campaign>/approvals`: the tasks that wait for an operator, or the policy if none does. */
export async function approvalsPage(app: Api, context: Context): Promise<Response> {
  const name = context.req.param('campaign')!;
  const filters = { verdict: 'candidate', detail: 'true' };
  const tasks = await askAll<Row>(app, context, `/api/v1/campaigns/${name}/tasks`, filters);
  const mayOperate = context.get('role') === 'operate';
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: 'Approvals', href: '' }],
    [
      html`<p class="lead">
        ${tasks.length > 0 ? `${counted(tasks.length, 'task')} not decided yet. Mark those to reject; the others are admitted.` : 'No task waits. If a trained policy does, promote it, or keep the active one.'}
      </p>`,
      mayOperate ? form(name, tasks) : tasks.map((task) => html`<article class="comparison">${taskOf(task)}</article>`),
    ],
  );
}

const form = (name: string, tasks: readonly Row[]): Html =>
  html`<form method="post" action="${campaignCrumb(name).href}/order">
    <input type="hidden" name="kind" value="approve" />
    <input type="hidden" name="request_id" value="${randomUUID()}" />
    ${tasks.map(
      (task) =>
        html`<article class="comparison">
          <label><input type="checkbox" name="reject" value="${task.id}" /> reject</label>
          ${taskOf(task)}
        </article>`,
    )}
    ${tasks.length > 0 ? null : html`<label><input type="checkbox" name="keep" value="true" /> keep the active policy</label>`}
    <label>Reason <input name="reason" required maxlength="1000" size="40" /></label>
    <button>Approve</button>
  </form>`;

const taskOf = ({ id, goal, parent_signal: signal, parent_task_id: parent, reference_actions: actions }: Row): Html =>
  html`<p class="goal">${goal} <code>${id}</code></p>
    ${signal === null ? null : html`<p class="note">aimed at ${signal} of ${parent}</p>`}
    ${(Array.isArray(actions) ? actions : []).map((action) => html`<pre class="action">${action}</pre>`)}`;
