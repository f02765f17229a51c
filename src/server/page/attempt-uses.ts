import type { Context } from 'hono';
import type { z } from 'zod';
import { decimal } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import { code, table, text, type Column } from '../../tables/table';
import type { Api } from '../request/context';
import type { Signal, Task } from '../rows/campaign-rows';
import type { Pair } from '../rows/training-rows';
import { askAll } from './ask-api';

type Uses = { signals: z.infer<typeof Signal>[]; pairs: z.infer<typeof Pair>[]; examples: { training_run: string }[] };

export async function usesOf(app: Api, context: Context, { below, id }: { below: string; id: string }): Promise<Uses> {
  const ask = <Row>(list: string, filter: Record<string, string>): Promise<Row[]> =>
    askAll<Row>(app, context, `${below}/${list}`, filter);
  const pairs = [
    ...(await ask<Uses['pairs'][number]>('pairs', { chosen_id: id })),
    ...(await ask<Uses['pairs'][number]>('pairs', { rejected_id: id })),
  ];
  const examples = await ask<Uses['examples'][number]>('training-examples', { attempt_id: id });
  return { signals: await ask('signals', { attempt_id: id }), pairs, examples };
}

/** Why an attempt is in the training data: from the signal behind its task to the jobs that trained on it. */
export function reasons({ signals, pairs, examples }: Uses, task: z.infer<typeof Task>): Html {
  const lines = [
    task.parent_signal === null
      ? `The task is of origin ${task.origin}.`
      : `The task was made from ${task.parent_task_id}, aimed at the signal ${task.parent_signal} (${task.parent_signal_id}).`,
    ...signals.map(({ kind, strength, id }) => `It is flagged ${kind} with strength ${decimal(strength)} (${id}).`),
    ...examples.map(({ training_run: run }) => `The job ${run} was trained on it.`),
  ];
  const unused = signals.length + pairs.length + examples.length === 0;
  return html`<h2>Why it is in the training data</h2>
    <ul>
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
