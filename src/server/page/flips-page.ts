import type { Context } from 'hono';
import type { Pool } from 'pg';
import { counted, decimal } from '../../domain/formats';
import { note } from '../../report/page/blocks';
import { html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { linked, number, table, text, type Column } from '../../tables/table';
import { listFlippedTasks, type FlippedTask } from '../../store/reporting/flipped-tasks';
import { parentId } from '../request/parents';
import { attemptHref } from './attempts-page';
import { campaignCrumb, home, sendPage } from './frame';

/** `/c/<campaign>/flips?set=`: the tasks that the first or the last policy alone solves; each opens both attempts. */
export async function flipsPage(context: Context, reader: Pool): Promise<Response> {
  const name = context.req.param('campaign')!;
  const set = context.req.query('set') ?? 'dev';
  const flips = await listFlippedTasks(reader, await parentId(reader, 'campaign', name), set);
  const gained = flips.filter(({ gained: isGained }) => isGained).length;
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: `Tasks of ${set} that flipped`, href: '' }],
    [
      html`<p class="lead">
        Between the first and the last target policy ${counted(gained, 'task')} of ${set} turned to solved,
        ${counted(flips.length - gained, 'task')} to failed.
      </p>`,
      flips.length === 0
        ? note('No task turned, or the set was played by one policy.')
        : htmlTable(table('Flipped tasks', flips, columnsOf(name)), true),
    ],
  );
}

const columnsOf = (campaign: string): readonly Column<FlippedTask>[] => [
  linked(
    text('task', ({ task_id: id }) => id),
    ({ before_id: before, after_id: after }) => attemptHref(campaign, before, after),
  ),
  text('goal', ({ goal }) => goal),
  text('turned to', ({ gained }) => (gained ? 'solved' : 'failed')),
  number('reward before', ({ before_reward: reward }) => reward, decimal),
  number('reward after', ({ after_reward: reward }) => reward, decimal),
];
