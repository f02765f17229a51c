import type { Context } from 'hono';
import { readCampaignNow, type CampaignNow } from '../../client/campaign-status';
import type { Connections } from '../../client/connections';
import { noticesOf } from '../../client/held-work';
import { causeHint } from '../../domain/campaign/parked-hints';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { count, counted, dateTime } from '../../domain/formats';
import { renderLiveReport } from '../../report/campaign/campaign-report';
import { hasEnded } from '../../store/campaign/campaigns';
import { badge, note } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { campaignCrumb, crumbs, home, sendHtml, sendPage, streamOf } from './frame';
import type { keptReports } from './kept-reports';
import { renderOrder, type ShownOrder } from './order-form';

/** `problem`: why the newest order was refused. */
type Shown = { mayOperate: boolean; order: ShownOrder | null; problem: string | null };

/** `/c/<campaign>`: where it is, what it waits for and the orders, above its newest report. */
export async function campaignPage(
  context: Context,
  { connections, reports }: { connections: Connections; reports: ReturnType<typeof keptReports> },
  shown: Shown,
): Promise<Response> {
  const now = await readCampaignNow(connections, context.req.param('campaign')!);
  const { rendered, seconds } = await reports(now.campaignId);
  const follows = rendered?.report.campaign.finishedAt ? null : { seconds, stream: streamOf(now.name) };
  const state = html`<div class="live">
    ${stateLine(now)} ${waits(now)} ${links(now.name, shown.mayOperate && !hasEnded(now.status))}
    ${shown.problem === null ? null : html`<p role="alert" class="problem">${shown.problem}</p>`}
    ${shown.order === null ? null : renderOrder(shown.order)}
  </div>`;
  return rendered === null
    ? sendPage(context, [home, campaignCrumb(now.name)], [state, note('The report is being collected.')], follows)
    : sendHtml(context, renderLiveReport(rendered, { above: crumbs([home]), below: state }, { follows }));
}

function stateLine({ status, progress, iterations, rollouts, jobs }: CampaignNow): Html {
  const { iteration, phase } = progress;
  const played = rollouts.map(
    ({ purpose, done, planned }) => `${purpose}: ${count(done)} of ${counted(planned, 'attempt')}`,
  );
  const trained = jobs.map(({ role, method, step }) => `${role} by ${method}: update ${count(step)}`);
  return html`<p class="state">
    ${badge(status)} iteration ${iteration} of ${iterations}, phase ${phase}
    ${[...played, ...trained].map((line) => html`<span class="line">${line}</span>`)}
  </p>`;
}

/** The reason of a wait with the step that ends it, as in `coevolve status`. */
function waits(now: CampaignNow): Html | null {
  const { problem, progress, status, waitsFor, waitsSince, pausedWork, failingWork } = now;
  const since = waitsSince ? ` since ${dateTime(waitsSince.toISOString())}` : '';
  const lines = [
    ...[...(problem ? [problem] : []), ...noticesOf([...pausedWork, ...failingWork])].map(
      ({ what, next }) => `${what}; ${next}`,
    ),
    ...(progress.parked && status === 'parked'
      ? [`parked${since} by ${parkedCode(progress)}: ${progress.parked}`, `Remedy: ${causeHint(now)}`]
      : []),
    ...(status === 'paused' && waitsFor !== null ? [`${waitsFor}${since}`] : []),
  ];
  return lines.length === 0
    ? null
    : html`<div role="status" class="problem">${lines.map((line) => html`<p>${line}</p>`)}</div>`;
}

function links(name: string, mayOrder: boolean): Html {
  const all = [
    ['a', 'attempts', 'Attempts'],
    ['f', 'attempts?max_reward=0', 'failures'],
    ['s', 'search', 'search'],
    ['t', 'flips', 'tasks that flipped'],
    ['r', 'approvals', 'approvals'],
    ...(mayOrder ? [['o', 'order', 'give an order']] : []),
  ] as [string, string, string][];
  const anchors = all.map(([key, path, title]) => html`<a accesskey="${key}" href="/c/${name}/${path}">${title}</a>`);
  return html`<p>${anchors.map((anchor, i) => (i === 0 ? anchor : [' · ', anchor]))}</p>`;
}
