import type { Context } from 'hono';
import type { Pool } from 'pg';
import { counted, decimal, rate, shortHash } from '../../domain/formats';
import { note } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { linked, number, table, text, type Column } from '../../tables/table';
import {
  listFlippedTasks,
  listPlayers,
  type Compared,
  type FlippedTask,
  type Player,
} from '../../store/reporting/flipped-tasks';
import { parentId } from '../request/parents';
import { attemptHref } from './attempts-page';
import { select } from './form-fields';
import { campaignCrumb, home, sendPage } from './frame';

/**
 * `/c/<campaign>/flips?set=&before=&after=`: the tasks that one of two policies alone solves; each opens both attempts.
 * Without policies it compares the first with the last one that played the set.
 */
export async function flipsPage(context: Context, reader: Pool): Promise<Response> {
  const name = context.req.param('campaign')!;
  const campaignId = await parentId(reader, 'campaign', name);
  const players = await listPlayers(reader, campaignId);
  const set = context.req.query('set') ?? 'dev';
  const ofSet = players.filter((player) => player.set === set);
  const chosen = (field: string, otherwise: Player | undefined): string =>
    ofSet.find(({ policy_id: id }) => id === context.req.query(field))?.policy_id ?? otherwise?.policy_id ?? '';
  const compared = { set, before: chosen('before', ofSet[0]), after: chosen('after', ofSet.at(-1)) };
  const flips = await listFlippedTasks(reader, campaignId, compared);
  return sendPage(
    context,
    [home, campaignCrumb(name), { name: `Tasks of ${set} that flipped`, href: '' }],
    [
      choice(players, compared),
      summary(flips, ofSet, compared),
      flips.length === 0
        ? note('No task turned, or the set was played by one policy.')
        : htmlTable(table('Flipped tasks', flips, columnsOf(name)), true),
    ],
  );
}

function choice(players: readonly Player[], { set, before, after }: Compared): Html {
  const policies = players
    .filter((player) => player.set === set)
    .map((player) => [player.policy_id, nameOf(player)] as const);
  return html`<form method="get">
    <label>set ${select('set', [...new Set(players.map((player) => player.set))], set)}</label>
    <label>before ${select('before', policies, before)}</label>
    <label>after ${select('after', policies, after)}</label>
    <button>Compare</button>
  </form>`;
}

const nameOf = ({ policy_id: id, iteration, success }: Player): string =>
  `iteration ${iteration}: ${rate(success)} (${shortHash(id)})`;

function summary(flips: readonly FlippedTask[], players: readonly Player[], { set, before, after }: Compared): Html {
  const gained = flips.filter(({ gained: isGained }) => isGained).length;
  const [first, last] = [before, after].map((policy) => players.find(({ policy_id: id }) => id === policy)?.iteration);
  return html`<p class="lead">
    Policy of iteration ${first ?? 'none'} to iteration ${last ?? 'none'}: ${counted(gained, 'task')} of ${set} turned
    to solved, ${counted(flips.length - gained, 'task')} to failed.
  </p>`;
}

const columnsOf = (campaign: string): readonly Column<FlippedTask>[] => [
  linked(
    text('task', ({ task_id: id }) => id),
    ({ before_id: before, after_id: after }) => attemptHref(campaign, before, { campaign, id: after }),
  ),
  text('goal', ({ goal }) => goal),
  text('turned to', ({ gained }) => (gained ? 'solved' : 'failed')),
  number('reward before', ({ before_reward: reward }) => reward, decimal),
  number('reward after', ({ after_reward: reward }) => reward, decimal),
];
