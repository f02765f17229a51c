import type { Context } from 'hono';
import type { Pool } from 'pg';
import type { z } from 'zod';
import { count, counted, decimal, duration, shortHash } from '../../domain/formats';
import { rewardClass } from '../../report/campaign/attempts';
import { badge, note } from '../../report/page/blocks';
import { firstDifference } from '../../store/reporting/first-difference';
import { html, type Html } from '../../tables/html';
import type { Api } from '../request/context';
import { parentId } from '../request/parents';
import type { Attempt, Task } from '../rows/campaign-rows';
import { askAll, askJson, type Found } from './ask-api';
import { reasons, usesOf } from './attempt-uses';
import { attemptHref } from './attempts-page';
import { addressWith, campaignCrumb, home, sendPage } from './frame';
import type { tokenizers } from './token-texts';
import { turnView, type ShownTurn, type TurnView } from './turn-view';

/** Actions of a page. */
const shownActions = 100;
/** Equal actions that a page has before the first difference. */
const actionsBefore = 20;

type Side = { campaign: string; attempt: z.infer<typeof Attempt>; turns: ShownTurn[]; view: TurnView };

type Sources = { app: Api; reader: Pool; textsOf: ReturnType<typeof tokenizers> };

/**
 * `/c/<campaign>/attempt?id=&vs=&with=&from=`: an attempt, or two side by side, open at the first action that differs. The
 * other one may be of the campaign `with`. `from` is the number of the first action that is shown, from 1.
 */
export async function attemptPage(sources: Sources, context: Context): Promise<Response> {
  const { app, reader } = sources;
  const name = context.req.param('campaign')!;
  const { id = '', vs, with: other = name, from } = context.req.query();
  const keys = [{ campaign: name, id }, ...(vs ? [{ campaign: other, id: vs }] : [])];
  const attempts = await Promise.all(keys.map((key) => askJson<Side['attempt']>(app, context, pathOf(key))));
  const ids = await Promise.all(keys.map(({ campaign }) => parentId(reader, 'campaign', campaign)));
  const [one, two] = keys.map((key, i) => ({ campaignId: ids[i]!, attemptId: key.id }));
  const difference = two ? await firstDifference(reader, one!, two) : null;
  const first = /^[1-9]\d{0,7}$/.test(from ?? '') ? Number(from) - 1 : Math.max(0, (difference ?? 0) - actionsBefore);
  const sides = await Promise.all(
    keys.map(({ campaign }, i) => readSide(sources, context, { campaign, attempt: attempts[i]!, first })),
  );
  const [left, right] = sides as [Side, Side?];
  const task = await askJson<z.infer<typeof Task>>(app, context, taskPath(left));
  const others = await othersOf(app, context, left);
  const trail = [home, campaignCrumb(name), { name: 'Attempts', href: `/c/${name}/attempts` }];
  return sendPage(
    context,
    [...trail, { name: right ? 'Two attempts' : 'An attempt', href: context.req.url }],
    [
      html`<p class="goal">${task.goal} <code>${task.id}</code></p>`,
      openingOf(left),
      right ? twoAttempts(left, right, { first, difference }) : oneAttempt(left),
      otherActions(left, right, first),
      otherAttempts(left, others),
      reasons(await usesOf(app, context, { below: below(name), id }), task),
    ],
  );
}

const below = (campaign: string): string => `/api/v1/campaigns/${campaign}`;

const pathOf = ({ campaign, id }: { campaign: string; id: string }): string =>
  `${below(campaign)}/attempts/${encodeURIComponent(id)}`;

const taskPath = ({ campaign, attempt }: Side): string =>
  `${below(campaign)}/tasks/${encodeURIComponent(attempt.task_id)}`;

async function readSide(
  { app, textsOf }: Sources,
  context: Context,
  { campaign, attempt, first }: Pick<Side, 'campaign' | 'attempt'> & { first: number },
): Promise<Side> {
  const filters = { attempt_id: attempt.id, min_ordinal: first, limit: shownActions, detail: 'true' };
  const { rows } = await askJson<Found<ShownTurn>>(app, context, addressWith(`${below(campaign)}/turns`, filters));
  const { whole = null, ...parameters } = context.req.query();
  const texts = attempt.policy_id === null ? () => null : await textsOf(attempt.policy_id);
  const view = { texts, here: { path: context.req.path, parameters }, whole: whole === null ? null : Number(whole) };
  return { campaign, attempt, turns: rows, view };
}

async function othersOf(app: Api, context: Context, { campaign, attempt }: Side): Promise<Side['attempt'][]> {
  const all = await askAll<Side['attempt']>(app, context, `${below(campaign)}/attempts`, { task_id: attempt.task_id });
  return all.filter(({ id }) => id !== attempt.id);
}

const oneAttempt = (side: Side): Html =>
  html`<article class="comparison">
    ${heading(side)} ${side.turns.map((turn) => html`<div tabindex="-1">${turnView(turn, side.view)}</div>`)}
    ${ending(side)}
  </article>`;

function twoAttempts(left: Side, right: Side, at: { first: number; difference: number | null }): Html {
  const { first, difference } = at;
  const places = Array.from({ length: Math.max(left.turns.length, right.turns.length) }, (_, i) =>
    placeOf(left, right, i),
  );
  const same = difference === null ? places.length : Math.min(Math.max(0, difference - first), places.length);
  const swapped = attemptHref(right.campaign, right.attempt.id, { id: left.attempt.id, campaign: left.campaign });
  return html`<article class="comparison">
    <p>
      <a accesskey="x" href="${swapped}">Swap sides</a>
      ${difference === null ? ' · no action differs' : differenceLink(left, right, difference)}
    </p>
    ${inSides(heading(left), heading(right))}
    ${
      same === 0
        ? null
        : html`<details>
            <summary>${count(same)} equal actions before</summary>
            ${places.slice(0, same)}
          </details>`
    }
    <div id="divergence" tabindex="-1">${places.slice(same)}</div>
    ${inSides(ending(left), ending(right))}
  </article>`;
}

const inSides = (left: Html, right: Html): Html =>
  html`<div class="sides">
    <div class="side">${left}</div>
    <div class="side">${right}</div>
  </div>`;

function differenceLink(left: Side, right: Side, difference: number): Html {
  const href = attemptHref(left.campaign, left.attempt.id, { id: right.attempt.id, campaign: right.campaign });
  return html` · <a accesskey="d" href="${href}#divergence">first difference: action ${difference + 1}</a>`;
}

/** The messages before the first action; two attempts at a task have the same ones. */
const openingOf = ({ attempt: { opening } }: Side): Html =>
  html`<details>
    <summary>Messages before the first action</summary>
    ${(opening ?? []).map(({ role, content }) => html`<pre class="observation" title="${role}">${String(content)}</pre>`)}
  </details>`;

function placeOf(left: Side, right: Side, i: number): Html {
  const [one, two] = [left, right].map(({ turns, view }) =>
    turns[i] ? turnView(turns[i], view) : note('The attempt has ended.'),
  );
  return html`<div tabindex="-1">${inSides(one!, two!)}</div>`;
}

const heading = ({ campaign, attempt: { role, policy_id: policy, iteration, reward, seconds } }: Side): Html =>
  html`<p class="player">
    <span>
      ${campaign}, ${role ?? 'reference actions'}, iteration ${iteration}, ${duration(seconds)}
      ${policy === null ? null : html`<code>${shortHash(policy)}</code>`}
    </span>
    ${badge(rewardClass(reward ?? 0), `reward ${decimal(reward)}`)}
  </p>`;

const ending = ({ attempt: { stop_reason: stop, fault, outcome } }: Side): Html =>
  html`<p class="note">${outcome}, ${stop}${fault === null ? null : `: ${fault}`}</p>`;

/** Links to the actions before and after the shown ones. */
function otherActions({ view, attempt }: Side, right: Side | undefined, first: number): Html | null {
  const actions = Math.max(attempt.turns, right?.attempt.turns ?? 0);
  const link = (key: string, from: number, name: string): Html =>
    html`<a accesskey="${key}" href="${addressWith(view.here.path, { ...view.here.parameters, from: from + 1 })}"
      >${name}</a
    > `;
  const isWhole = first === 0 && actions <= shownActions;
  if (isWhole) return null;
  return html`<p>
    Actions ${count(first + 1)} to ${count(Math.min(actions, first + shownActions))} of ${count(actions)}
    ${first === 0 ? null : link('p', Math.max(0, first - shownActions), 'earlier')}
    ${first + shownActions >= actions ? null : link('n', first + shownActions, 'later')}
  </p>`;
}

function otherAttempts({ campaign, attempt }: Side, others: readonly Side['attempt'][]): Html {
  if (others.length === 0) return note('No other attempt at this task.');
  const solved = others.filter(({ reward }) => reward === 1).length;
  return html`<details>
    <summary>${counted(others.length, 'other attempt')} at this task, ${count(solved)} solved: beside this one</summary>
    <ul>
      ${others.map(
        (other) =>
          html`<li>
            <a href="${attemptHref(campaign, attempt.id, { id: other.id, campaign })}">${other.id}</a> reward
            ${decimal(other.reward)}${other.policy_id === attempt.policy_id ? ', the same policy' : null}
          </li>`,
      )}
    </ul>
  </details>`;
}
