import type { Context } from 'hono';
import type { Connections } from '../../client/connections';
import { listCampaigns, type ListedCampaign } from '../../client/campaign-status';
import { dateTime, dollars, duration, oneLine, rate } from '../../domain/formats';
import { html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { badge, linked, number, table, text, type Column } from '../../tables/table';
import { note } from '../../report/page/blocks';
import { campaignCrumb, home, sendPage, streamOf } from './frame';

/** `/`: all campaigns; those that wait stand first, then those that run, newest first. */
export async function campaignsPage(context: Context, connections: Connections): Promise<Response> {
  const { campaigns, unchecked } = await listCampaigns(connections);
  const sorted = campaigns.toSorted((a, b) => rankOf(a) - rankOf(b) || b.id - a.id);
  return sendPage(
    context,
    [home],
    [
      html`<p><a accesskey="e" href="/e">Experiments</a></p>`,
      unchecked === null ? null : note(`Statuses are those of the database, not compared with Temporal: ${unchecked}`),
      sorted.length === 0
        ? html`<p class="lead">No campaign yet: <code>coevolve start &lt;spec&gt;</code> starts one.</p>`
        : htmlTable(table('Campaigns', sorted, columns), true),
    ],
    { follows: { seconds: 10, stream: streamOf() } },
  );
}

const rankOf = ({ problem, waitsFor, finishedAt }: ListedCampaign): number =>
  problem !== null || waitsFor !== null ? 0 : finishedAt === null ? 1 : 2;

const columns: readonly Column<ListedCampaign>[] = [
  linked(
    text('name', ({ name }) => name),
    ({ name }) => campaignCrumb(name).href,
  ),
  badge('status', ({ status }) => status),
  text('waits for', ({ problem, waitsFor }) => problem?.what ?? (waitsFor && oneLine(waitsFor, 160))),
  text('iteration', ({ iteration, iterations }) => (iteration === null ? null : `${iteration} of ${iterations}`)),
  text('phase', ({ phase, finishedAt }) => (finishedAt ? null : phase)),
  number('success on dev', ({ success }) => success, rate),
  text('progress', ({ progressAt, finishedAt }) =>
    finishedAt ? null : `${duration(Math.max(0, (Date.now() - progressAt.getTime()) / 1000))} ago`,
  ),
  text('left', ({ secondsLeft }) => (secondsLeft === null ? null : `about ${duration(secondsLeft)}`)),
  number('spent', ({ usd }) => (usd > 0 ? dollars(usd) : null)),
  text('recipe', ({ recipe, isEvaluation }) => (isEvaluation ? 'none: evaluation' : recipe)),
  text('environment', ({ environment }) => environment),
  text('started', ({ createdAt }) => dateTime(createdAt.toISOString())),
];
