import type { Context } from 'hono';
import type { z } from 'zod';
import { count, counted, decimal, duration, shortHash, share } from '../../domain/formats';
import { rewardClass } from '../../report/campaign/attempts';
import { badge, note } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { code, table, text, type Column } from '../../tables/table';
import type { Api } from '../request/context';
import type { Attempt, Signal, Task, Turn } from '../rows/campaign-rows';
import type { Pair } from '../rows/training-rows';
import { askAll, askJson } from './ask-api';
import { attemptHref } from './attempts-page';
import { alignTurns, type Place } from './divergence';
import { campaignCrumb, home, sendPage } from './frame';

type Shown = { attempt: z.infer<typeof Attempt>; turns: z.infer<typeof Turn>[] };

/** `/c/<campaign>/attempt?id=&vs=`: an attempt, or two side by side, open at the first action that differs. */
export async function attemptPage(app: Api, context: Context): Promise<Response> {
  const name = context.req.param('campaign')!;
  const { id = '', vs } = context.req.query();
  const below = `/api/v1/campaigns/${name}`;
  const left = await readAttempt(app, context, { below, id });
  const right = vs ? await readAttempt(app, context, { below, id: vs }) : null;
  const taskPath = `${below}/tasks/${encodeURIComponent(left.attempt.task_id)}`;
  const task = await askJson<z.infer<typeof Task>>(app, context, taskPath);
  const others = await askAll<Shown['attempt']>(app, context, `${below}/attempts`, { task_id: task.id });
  const uses = await usesOf(app, context, { below, id });
  const trail = [home, campaignCrumb(name), { name: 'Attempts', href: `/c/${name}/attempts` }];
  return sendPage(
    context,
    [...trail, { name: right === null ? 'An attempt' : 'Two attempts', href: attemptHref(name, id, vs) }],
    [
      html`<p class="goal">${task.goal} <code>${task.id}</code></p>`,
      openingOf(left),
      right === null ? oneAttempt(left) : twoAttempts(name, left, right),
      otherAttempts(
        name,
        left.attempt,
        others.filter((other) => other.id !== id),
      ),
      html`<h2>Why it is in the training data</h2>`,
      reasons(uses, task),
    ],
  );
}

type At = { below: string; id: string };

async function readAttempt(app: Api, context: Context, { below, id }: At): Promise<Shown> {
  const path = `${below}/attempts/${encodeURIComponent(id)}`;
  return {
    attempt: await askJson<Shown['attempt']>(app, context, path),
    turns: await askAll(app, context, `${below}/turns`, { attempt_id: id, detail: 'true' }),
  };
}

const oneAttempt = (shown: Shown): Html =>
  html`<article class="comparison">
    ${heading(shown)} ${shown.turns.map((turn) => turnOf(turn))} ${ending(shown)}
  </article>`;

function twoAttempts(name: string, left: Shown, right: Shown): Html {
  const { places, divergence } = alignTurns(left.turns, right.turns);
  const same = places.slice(0, divergence ?? places.length);
  const rest = places.slice(same.length);
  return html`<article class="comparison">
    <p>
      <a accesskey="x" href="${attemptHref(name, right.attempt.id, left.attempt.id)}">Swap sides</a>
      ${divergence === null ? ' · no action differs' : html` · <a accesskey="d" href="#divergence">first difference: action ${divergence + 1}</a>`}
    </p>
    <div class="sides">
      <div class="side">${heading(left)}</div>
      <div class="side">${heading(right)}</div>
    </div>
    ${
      same.length === 0
        ? null
        : html`<details>
            <summary>${count(same.length)} equal actions before</summary>
            ${same.map(placeOf)}
          </details>`
    }
    <div id="divergence" tabindex="-1">${rest.map(placeOf)}</div>
    <div class="sides">
      <div class="side">${ending(left)}</div>
      <div class="side">${ending(right)}</div>
    </div>
  </article>`;
}

/** The messages before the first action; two attempts at a task have the same ones. */
const openingOf = ({ attempt: { opening } }: Shown): Html =>
  html`<details>
    <summary>Messages before the first action</summary>
    ${(opening ?? []).map(messageOf)}
  </details>`;

const messageOf = ({ role, content }: Shown['turns'][number]['observation'][number]): Html =>
  html`<pre class="observation" title="${role}">${String(content)}</pre>`;

const placeOf = ({ left, right }: Place<Shown['turns'][number]>): Html =>
  html`<div class="sides">
    ${[left, right].map((turn) => html`<div class="side">${turn ? turnOf(turn) : note('The attempt has ended.')}</div>`)}
  </div>`;

const heading = ({ attempt: { role, policy_id: policy, iteration, reward, seconds } }: Shown): Html =>
  html`<p class="player">
    <span>
      ${role ?? 'reference actions'}, iteration ${iteration}, ${duration(seconds)}
      ${policy === null ? null : html`<code>${shortHash(policy)}</code>`}
    </span>
    ${badge(rewardClass(reward ?? 0), `reward ${decimal(reward)}`)}
  </p>`;

const ending = ({ attempt: { stop_reason: stop, fault, outcome } }: Shown): Html =>
  html`<p class="note">${outcome}, ${stop}${fault === null ? null : `: ${fault}`}</p>`;

/** The probability of an action is that of its tokens, as their geometric mean. */
function turnOf({ ordinal, action, observation, logprobs }: Shown['turns'][number]): Html {
  const mean = logprobs && logprobs.length > 0 ? logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length : null;
  const sampled =
    mean === null ? null : `, ${counted(logprobs!.length, 'token')}, probability of a token ${decimal(Math.exp(mean))}`;
  return html`<p class="note">action ${ordinal + 1}${sampled}</p>
    <pre class="action">${action}</pre>
    ${observation.map(messageOf)}`;
}

function otherAttempts(
  name: string,
  { id, policy_id: policy }: Shown['attempt'],
  others: readonly Shown['attempt'][],
): Html {
  if (others.length === 0) return note('No other attempt at this task.');
  const solved = others.filter(({ reward }) => reward === 1).length;
  return html`<details>
    <summary>
      ${count(others.length)} other attempts at this task, ${share(solved, others.length)} solved: beside this one
    </summary>
    <ul>
      ${others.map(
        (other) =>
          html`<li>
            <a href="${attemptHref(name, id, other.id)}">${other.id}</a> reward
            ${decimal(other.reward)}${other.policy_id === policy ? ', the same policy' : null}
          </li>`,
      )}
    </ul>
  </details>`;
}

type Uses = { signals: z.infer<typeof Signal>[]; pairs: z.infer<typeof Pair>[]; examples: { training_run: string }[] };

async function usesOf(app: Api, context: Context, { below, id }: At): Promise<Uses> {
  const ask = <Row>(list: string, filter: Record<string, string>): Promise<Row[]> =>
    askAll<Row>(app, context, `${below}/${list}`, filter);
  const pairs = [
    ...(await ask<Uses['pairs'][number]>('pairs', { chosen_id: id })),
    ...(await ask<Uses['pairs'][number]>('pairs', { rejected_id: id })),
  ];
  const examples = await ask<Uses['examples'][number]>('training-examples', { attempt_id: id });
  return { signals: await ask('signals', { attempt_id: id }), pairs, examples };
}

/** From the signal behind the task to the jobs that trained on the attempt. */
function reasons({ signals, pairs, examples }: Uses, task: z.infer<typeof Task>): Html {
  const lines = [
    task.parent_signal === null
      ? `The task is of origin ${task.origin}.`
      : `The task was made from ${task.parent_task_id}, aimed at the signal ${task.parent_signal} (${task.parent_signal_id}).`,
    ...signals.map(({ kind, strength, id }) => `It is flagged ${kind} with strength ${decimal(strength)} (${id}).`),
    ...examples.map(({ training_run: run }) => `The job ${run} was trained on it.`),
  ];
  const unused = signals.length + pairs.length + examples.length === 0;
  return html`<ul>
      ${lines.map((line) => html`<li>${line}</li>`)}
      ${unused ? html`<li>No signal, pair or job uses the attempt.</li>` : null}
    </ul>
    ${pairs.length === 0 ? null : htmlTable(table('Preference pairs with it', pairs, pairColumns))}`;
}

const pairColumns: readonly Column<Uses['pairs'][number]>[] = [
  text('pair', ({ id }) => id),
  text('kind', ({ kind }) => kind),
  text('trains', ({ for_role: role }) => role),
  code('chosen', ({ chosen_id: chosen }) => chosen),
  code('rejected', ({ rejected_id: rejected }) => rejected),
];
