import type { Context } from 'hono';
import { readCampaignDetails, type CampaignDetails } from '../../client/campaign-status';
import type { Connections } from '../../client/connections';
import { noticesOf } from '../../client/held-work';
import { causeHint } from '../../domain/campaign/parked-hints';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { count, counted, dateTime } from '../../domain/formats';
import { collectReport, renderLiveReport } from '../../report/campaign/campaign-report';
import { badge } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { addressWith, crumbs, home, sendHtml } from './frame';
import { renderOrder, type ShownOrder } from './order-form';

/** A report reads all rows of a campaign, so it is made anew less often than a list. */
const refreshSeconds = 30;

/** `problem`: why the newest order was refused. */
type Shown = { mayOperate: boolean; order: ShownOrder | null; problem: string | null };

/** `/c/<campaign>`: where it is, what it waits for and the orders, above its report as of now. */
export async function campaignPage(context: Context, connections: Connections, shown: Shown): Promise<Response> {
  const details = await readCampaignDetails(connections, context.req.param('campaign')!);
  const report = await collectReport(connections.pool, details.campaignId);
  const isOpen = report.campaign.finishedAt === null;
  const live = html`<div class="live">
    ${crumbs([home])} ${stateLine(details)} ${waits(details)} ${links(details.name, shown.mayOperate && isOpen)}
    ${shown.problem === null ? null : html`<p role="alert" class="problem">${shown.problem}</p>`}
    ${shown.order === null ? null : renderOrder(shown.order)}
  </div>`;
  return sendHtml(context, renderLiveReport(report, live, { refreshSeconds: isOpen ? refreshSeconds : null }));
}

function stateLine({ status, progress, iterations, rollouts, jobs }: CampaignDetails): Html {
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
function waits(details: CampaignDetails): Html | null {
  const { problem, progress, status, waitsFor, waitsSince, pausedWork, failingWork } = details;
  const since = waitsSince ? ` since ${dateTime(waitsSince.toISOString())}` : '';
  const lines = [
    ...[...(problem ? [problem] : []), ...noticesOf([...pausedWork, ...failingWork])].map(
      ({ what, next }) => `${what}; ${next}`,
    ),
    ...(progress.parked && status === 'parked'
      ? [`parked${since} by ${parkedCode(progress)}: ${progress.parked}`, `Remedy: ${causeHint(details)}`]
      : []),
    ...(status === 'paused' && waitsFor !== null ? [`${waitsFor}${since}`] : []),
  ];
  return lines.length === 0
    ? null
    : html`<div role="status" class="problem">${lines.map((line) => html`<p>${line}</p>`)}</div>`;
}

const links = (name: string, mayOrder: boolean): Html =>
  html`<p>
    <a href="/c/${name}/attempts">Attempts</a> · <a href="/c/${name}/attempts?max_reward=0">failures</a> ·
    <a href="${addressWith(`/c/${name}/flips`, { set: 'dev' })}">tasks that flipped on dev</a> ·
    <a href="/c/${name}/approvals">approvals</a
    >${mayOrder ? html` · <a accesskey="o" href="/c/${name}/order">give an order</a>` : null}
  </p>`;
