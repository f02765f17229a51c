import type { Context } from 'hono';
import { readCampaignNow, type CampaignNow } from '../../client/campaign-status';
import type { Connections } from '../../client/connections';
import { count, counted, duration } from '../../domain/formats';
import { renderLiveReport } from '../../report/campaign/campaign-report';
import { hasEnded } from '../../store/campaign/campaigns';
import { badge, note } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { campaignCrumb, crumbs, home, sendHtml, sendPage, streamOf } from './frame';
import type { keptReports } from './kept-reports';
import { renderOrder, type ShownOrder } from './order-form';
import { waits } from './waits';

type Shown = { mayOperate: boolean; order: ShownOrder | null };

/** `/c/<campaign>`: where it is, what it waits for and the orders, above its newest report. */
export async function campaignPage(
  context: Context,
  { connections, reports }: { connections: Connections; reports: ReturnType<typeof keptReports> },
  shown: Shown,
): Promise<Response> {
  const now = await readCampaignNow(connections, context.req.param('campaign')!);
  const { rendered, age, seconds } = await reports(now.campaignId);
  const follows = rendered?.report.campaign.finishedAt ? null : { seconds, stream: streamOf(now.name) };
  const state = html`<div class="live">
    ${stateLine(now)} ${waits(now, shown.mayOperate)} ${links(now.name, shown.mayOperate && !hasEnded(now.status))}
    ${shown.order === null ? null : renderOrder(shown.order)}
    ${follows && age > 2 ? note(`The report below is ${duration(age)} old; the next one is being collected.`) : null}
  </div>`;
  return rendered === null
    ? sendPage(context, [home, campaignCrumb(now.name)], [state, note('The report is being collected.')], { follows })
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
