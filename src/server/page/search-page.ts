import type { Context } from 'hono';
import type { z } from 'zod';
import { count, decimal } from '../../domain/formats';
import { html } from '../../tables/html';
import { code, linked, number, table, text, type Column } from '../../tables/table';
import type { Api } from '../request/context';
import type { SearchPage } from '../rows/search-rows';
import { askJson } from './ask-api';
import { addressWith, campaignCrumb, home, sendPage } from './frame';
import { pageOfRows } from './page-of-rows';

type Found = z.infer<typeof SearchPage>;
type Hit = Found['rows'][number];

/** `/c/<campaign>/search?text=`: the actions and observations that contain a text, newest first; each opens its place. */
export async function searchPage(app: Api, context: Context): Promise<Response> {
  const name = context.req.param('campaign')!;
  const { text: sought = '', cursor } = context.req.query();
  const here = `/c/${name}/search`;
  const address = addressWith(`/api/v1/campaigns/${name}/search`, { text: sought, cursor });
  const found = sought.length < 2 ? null : await askJson<Found>(app, context, address);
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: 'Search', href: here }],
    [
      html`<form method="get">
        <label
          >Text in actions and observations
          <input name="text" value="${sought}" size="40" minlength="2" maxlength="200" required
        /></label>
        <button>Search</button>
      </form>`,
      found === null
        ? null
        : pageOfRows(found, {
            table: table('Places, newest first', found.rows, columnsOf(name)),
            none: `Not among ${count(found.searched)} attempts.`,
            older: { title: 'Older places', hrefOf: (next) => addressWith(here, { text: sought, cursor: next }) },
          }),
    ],
  );
}

/** The end of a task's id, which differs between tasks. */
const taskName = (id: string): string => id.split('/').slice(-3).join('/');

const columnsOf = (campaign: string): readonly Column<Hit>[] => [
  linked(
    text(
      'place',
      ({ task_id: task, ordinal }) => `${taskName(task)}${ordinal === null ? '' : `, action ${ordinal + 1}`}`,
    ),
    ({ attempt_id: id, ordinal }) => addressWith(`/c/${campaign}/attempt`, { id, from: (ordinal ?? 0) + 1 }),
  ),
  text('in', ({ place }) => place),
  code('text', ({ excerpt }) => excerpt),
  text('purpose', ({ purpose, iteration }) => `${purpose}, iteration ${iteration}`),
  number('reward', ({ reward }) => reward, decimal),
];
