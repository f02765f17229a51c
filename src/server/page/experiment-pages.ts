import type { Context } from 'hono';
import { readNewestReport } from '../../client/experiments/analyze-experiment';
import type { Connections } from '../../client/connections';
import {
  listExperiments,
  readExperimentDetails,
  type ExperimentDetails,
} from '../../client/experiments/experiment-status';
import { count, dateTime, duration } from '../../domain/formats';
import { renderLiveExperiment } from '../../report/experiment';
import { isUnderway } from '../../store/experiment/experiments';
import { badge as badgeOf, note } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { badge, linked, table, text, type Column } from '../../tables/table';
import { campaignCrumb, crumbs, home, sendHtml, sendPage, streamOf, type Crumb } from './frame';

const experiments: Crumb = { name: 'Experiments', href: '/e' };

const follows = { seconds: 30, stream: streamOf() };

/** `/e`: all experiments, the newest first. */
export async function experimentsPage(context: Context, connections: Connections): Promise<Response> {
  const all = (await listExperiments(connections)).toReversed();
  return sendPage(
    context,
    [home, experiments],
    [
      all.length === 0
        ? html`<p class="lead">No experiment yet: <code>coevolve experiment start &lt;file&gt;</code> starts one.</p>`
        : htmlTable(table('Experiments', all, columns), true),
    ],
    { follows },
  );
}

const columns: readonly Column<ExperimentDetails>[] = [
  linked(
    text('name', ({ name }) => name),
    ({ name }) => `/e/${name}`,
  ),
  badge('status', ({ status }) => status),
  text('finished cells', ({ looks }) =>
    looks.map(({ finished, cells, seeds }) => `${finished} of ${cells} at ${seeds} seeds`),
  ),
  text('left', ({ secondsLeft }) => (secondsLeft === null ? null : `about ${duration(secondsLeft)}`)),
  text('frozen', ({ frozenAt }) => dateTime(frozenAt.toISOString())),
];

/**
 * `/e/<experiment>`: its cells, which open their campaigns, above the report of the newest look that was taken. The page
 * takes none itself.
 */
export async function experimentPage(context: Context, connections: Connections): Promise<Response> {
  const name = context.req.param('experiment')!;
  const details = await readExperimentDetails(connections, name);
  const report = await readNewestReport(connections, name);
  const parts = [stateLine(details), htmlTable(cellsTable(details), true)];
  const followed = isUnderway(details) ? follows : null;
  if (report === null)
    return sendPage(context, [home, experiments, { name, href: '' }], [...parts, note('No look was taken yet.')], {
      follows: followed,
    });
  const live = { above: crumbs([home, experiments]), below: html`<div class="live">${parts}</div>` };
  return sendHtml(context, renderLiveExperiment(report, live, { follows: followed }));
}

function stateLine({ status, reason, problem, secondsLeft, looks, cells }: ExperimentDetails): Html {
  const next = looks.find((look) => look.finished < look.cells) ?? looks.at(-1)!;
  const lines = [
    reason,
    problem,
    ...cells.map((cell) => (cell.reason === null ? null : `${cell.campaign}: ${cell.reason}`)),
  ];
  const waiting = lines.filter((line) => line !== null);
  return html`<p class="state">
      ${badgeOf(status)} ${count(next.finished)} of ${count(next.cells)} cells of the look at ${next.seeds} seeds
      ${secondsLeft === null ? null : `, about ${duration(secondsLeft)} left`}
    </p>
    ${waiting.length === 0 ? null : html`<div role="status" class="problem">${waiting.map((line) => html`<p>${line}</p>`)}</div>`}`;
}

/** Arms by seed. A cell that has begun opens its campaign. */
function cellsTable({ cells }: ExperimentDetails) {
  const arms = [...new Set(cells.map(({ arm }) => arm))];
  const seeds = [...new Set(cells.map(({ seed }) => seed))];
  const cellOf = (arm: string, seed: number) => cells.find((cell) => cell.arm === arm && cell.seed === seed)!;
  return table('Cells', arms, [
    text('arm', (arm) => arm),
    ...seeds.map((seed) =>
      linked(
        text<string>(`seed ${seed}`, (arm) => cellOf(arm, seed).status),
        (arm) =>
          ['waiting', 'missing'].includes(cellOf(arm, seed).status)
            ? null
            : campaignCrumb(cellOf(arm, seed).campaign).href,
      ),
    ),
  ]);
}
