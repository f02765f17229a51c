import type { Context } from 'hono';
import type { z } from 'zod';
import { count, dateTime, decimal, duration, shortHash } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import { linked, number, table, text, type Column } from '../../tables/table';
import type { Api } from '../request/context';
import { RequestError } from '../request/problem';
import { Attempt, Signal } from '../rows/campaign-rows';
import { select } from './form-fields';
import { askJson, type Found } from './ask-api';
import { addressWith, campaignCrumb, home, sendPage } from './frame';
import { pageOfRows } from './page-of-rows';

type Row = z.infer<typeof Attempt>;

/** Filters of the form; their names and values are the parameters of the API. */
const filters = [
  ['iteration', 'number'],
  ['purpose', Attempt.shape.purpose.options],
  ['role', Attempt.shape.role.unwrap().options],
  ['outcome', 'text'],
  ['task_id', 'text'],
  ['signal', Signal.shape.kind.options],
  ['min_reward', 'number'],
  ['max_reward', 'number'],
] as const;

/** `/c/<campaign>/attempts`: finished attempts, newest first. The address holds the filters and the place in the list. */
export async function attemptsPage(app: Api, context: Context): Promise<Response> {
  const name = context.req.param('campaign')!;
  const query = context.req.query();
  const given = Object.fromEntries(filters.map(([filter]) => [filter, query[filter]]));
  const page = addressWith(`/api/v1/campaigns/${name}/attempts`, { ...given, cursor: query['cursor'] });
  const found = await askJson<Found<Row>>(app, context, page).catch(refusalOf);
  const here = `/c/${name}/attempts`;
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: 'Attempts', href: here }],
    [
      filterForm(here, given),
      found instanceof RequestError
        ? html`<p role="alert" class="problem">${found.message}</p>`
        : pageOfRows(found, {
            table: table('Finished attempts, newest first', found.rows, columnsOf(name)),
            none: 'No attempt matches.',
            older: { title: 'Older attempts', hrefOf: (cursor) => addressWith(here, { ...given, cursor }) },
          }),
    ],
  );
}

/** A wrong filter is shown beside its form. */
function refusalOf(error: unknown): RequestError {
  if (error instanceof RequestError && error.status === 400) return error;
  throw error;
}

const filterForm = (here: string, given: Readonly<Record<string, string | undefined>>): Html =>
  html`<form method="get" action="${here}">
    ${filters.map(([name, values]) => html`<label>${name.replace('_', ' ')} ${field(name, values, given[name] ?? '')}</label> `)}
    <button>Filter</button>
  </form>`;

function field(name: string, values: 'text' | 'number' | readonly string[], value: string): Html {
  if (typeof values === 'string')
    return html`<input name="${name}" value="${value}" size="${values === 'text' ? 24 : 5}" />`;
  return select(name, ['', ...values], value);
}

/** Address of an attempt, or of two beside each other, of which the other may be of another campaign. */
export const attemptHref = (campaign: string, id: string, other?: { campaign: string; id: string }): string =>
  addressWith(`/c/${campaign}/attempt`, {
    id,
    vs: other?.id,
    with: other?.campaign === campaign ? null : other?.campaign,
  });

const columnsOf = (campaign: string): readonly Column<Row>[] => [
  linked(
    text('attempt', ({ task_id: task, attempt }) => `${task.split('/').slice(-3).join('/')}, ${attempt + 1}`),
    ({ id }) => attemptHref(campaign, id),
  ),
  text('purpose', ({ purpose, iteration }) => `${purpose}, iteration ${iteration}`),
  text('agent', ({ role }) => role),
  text('policy', ({ policy_id: policy }) => policy && shortHash(policy)),
  text('outcome', ({ outcome }) => outcome),
  number('reward', ({ reward }) => reward, decimal),
  text('stop', ({ stop_reason: stop }) => stop),
  number('turns', ({ turns }) => turns),
  number('tokens', ({ prompt_tokens: prompt, completion_tokens: completion }) => prompt + completion, count),
  number('time', ({ seconds }) => seconds, duration),
  text('signals', ({ signals }) => (signals.length > 0 ? signals.join(', ') : null)),
  text('ended', ({ recorded_at: time }) => dateTime(new Date(time).toISOString())),
];
