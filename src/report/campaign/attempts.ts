import type pg from 'pg';
import { count, rate, shortHash } from '../../domain/formats';
import { badge, lead, note } from '../page/blocks';
import { html, type Html } from '../../tables/html';
import { absence, agentName, defineSection, type SharedData } from './campaign-data';
import { functionsRole } from '../../domain/rollout/functions';

/** Attempts side by side, for a comparison by eye. */
export const attemptsSection = defineSection({
  id: 'attempts',
  title: 'Attempts side by side',
  queries: { taskExamples: listTaskExamples, pairExample: findPairExample },
  body: ({ campaign, outcome, taskExamples, pairExample }) => [
    ...(taskExamples.length > 0
      ? [
          lead(
            'Held-out tasks: the supervised start on the left, ',
            outcome.isFinalActive ? 'the active policy' : 'the newest candidate, which was not promoted,',
            ' on the right.',
          ),
          ...taskExamples.map(taskComparison),
        ]
      : [note('No held-out task shows a difference between the supervised start and a later policy.')]),
    html`<h3>A preference pair</h3>`,
    pairExample ? pairComparison(pairExample) : absence(campaign, 'pair', 'No preference pair was built'),
  ],
});

const labels = {
  gained: 'Gained: only the later policy solves it',
  lost: 'Lost: only the supervised start solves it',
  'near miss': 'Near miss: the later policy’s best failure',
};

const taskComparison = ({ label, taskId, goal, before, after }: TaskExample): Html =>
  comparison({ title: labels[label], taskId, goal }, [
    [`supervised start, iteration ${before.iteration}`, before],
    [`later policy, iteration ${after.iteration}`, after],
  ]);

const pairComparison = ({
  kind,
  forRole,
  iteration,
  hardNegative,
  taskId,
  goal,
  chosen,
  rejected,
}: PairExample): Html =>
  comparison(
    {
      title: `${kind}, iteration ${iteration}, trains the ${agentName(forRole)}${hardNegative ? ', hard negative' : ''}`,
      taskId,
      goal,
    },
    [
      [`chosen: ${playerOf(chosen)}`, chosen],
      [`rejected: ${playerOf(rejected)}`, rejected],
    ],
  );

const playerOf = ({ role }: ShownAttempt): string => (role === null ? 'reference actions' : agentName(role));

type Heading = { title: string; taskId: string; goal: string };

const comparison = ({ title, taskId, goal }: Heading, sides: [string, ShownAttempt][]): Html =>
  html`<article class="comparison">
    <h4>${title}</h4>
    <p class="goal">${goal} <code>${taskId}</code></p>
    <div class="sides">${sides.map(([name, attempt]) => side(name, attempt))}</div>
  </article>`;

const side = (name: string, { reward, stopReason, trajectoryId, turns }: ShownAttempt): Html =>
  html`<div class="side">
    <p class="player">${name} ${badge(rewardClass(reward), `reward ${rate(reward)}`)}</p>
    ${turns.length === 0 ? note('No turn was stored.') : turns.map(turn)}
    <p class="note">${stopReason} <code>${trajectoryId}</code></p>
  </div>`;

/** Colour of a reward's badge. */
export const rewardClass = (reward: number): string => (reward === 1 ? 'success' : reward > 0 ? 'partial' : 'failed');

const turn = ({ action, observation }: ShownAttempt['turns'][number]): Html =>
  html`<pre class="action">${cut(action)}</pre>
    ${observation.map((message) => html`<pre class="observation" title="${message.role}">${shownText(message)}</pre>`)}`;

/** A stored list of functions has its sha256 as content. */
const shownText = ({ role, content }: Message): string =>
  role === functionsRole ? `other functions from here on: list ${shortHash(content)}` : cut(content);

/** In characters. Longer actions and observations are cut: a schema dump would hide the comparison. */
const maxTextLength = 900;

const cut = (text: string): string =>
  text.length <= maxTextLength
    ? text
    : `${text.slice(0, maxTextLength)}\n… ${count(text.length - maxTextLength)} more characters`;

export type Message = { role: string; content: string };

/** An attempt with its actions and observations. */
export type ShownAttempt = {
  trajectoryId: string;
  policyId: string | null; // null for the task's reference actions
  role: string | null;
  iteration: number;
  reward: number;
  stopReason: string;
  turns: { action: string; observation: Message[] }[];
};

export type TaskExample = {
  label: 'gained' | 'lost' | 'near miss';
  taskId: string;
  goal: string;
  before: ShownAttempt;
  after: ShownAttempt;
};

type Pick = { label: TaskExample['label']; taskId: string; goal: string; beforeId: string; afterId: string };

/**
 * Lists held-out tasks that show the difference between the supervised start and the final policy, at most one of each
 * label: gained (only the final policy solves it), lost (only the start), near miss (the final policy's best failure).
 */
export async function listTaskExamples(
  client: pg.ClientBase,
  campaignId: number,
  { outcome: { start, final } }: SharedData,
): Promise<TaskExample[]> {
  if (!start || !final) return [];
  const { rows } = await client.query<Pick>(
    `with newest as (
       select distinct on (policy_id, task_id) id, policy_id, task_id, reward
         from reporting.attempts
        where campaign_id = $1::int and policy_id in ($2::text, $3::text)
          and purpose = 'evaluation' and outcome = 'scored'
        order by policy_id, task_id, iteration desc, attempt),
     labelled as (
       select case when a.reward = 1 and b.reward < 1 then 'gained'
                   when a.reward < 1 and b.reward = 1 then 'lost'
                   when a.reward < 1 and a.reward > 0 then 'near miss' end as label,
              a.task_id, b.id as before_id, a.id as after_id, a.reward
         from newest a
         join newest b on b.task_id = a.task_id and b.policy_id = $2::text
        where a.policy_id = $3::text)
     select distinct on (array_position(array['gained', 'lost', 'near miss'], l.label))
            l.label, l.task_id as "taskId", k.goal, l.before_id as "beforeId", l.after_id as "afterId"
       from labelled l
       join reporting.tasks k on k.campaign_id = $1::int and k.id = l.task_id
      where l.label is not null
      order by array_position(array['gained', 'lost', 'near miss'], l.label), l.reward desc, l.task_id collate "C"`,
    [campaignId, start.policyId, final.policyId],
  );
  const shown = await listShownAttempts(
    client,
    campaignId,
    rows.flatMap((row) => [row.beforeId, row.afterId]),
  );
  return rows.map(({ label, taskId, goal, beforeId, afterId }) => ({
    label,
    taskId,
    goal,
    before: shown.get(beforeId)!,
    after: shown.get(afterId)!,
  }));
}

export type PairExample = {
  pairId: string;
  iteration: number;
  forRole: string;
  kind: string;
  hardNegative: boolean;
  taskId: string;
  goal: string;
  chosen: ShownAttempt;
  rejected: ShownAttempt;
};

/**
 * Finds the most instructive preference pair: one with a hard negative before others, then failure-failure before other
 * kinds, then the newest iteration.
 */
export async function findPairExample(client: pg.ClientBase, campaignId: number): Promise<PairExample | null> {
  const { rows } = await client.query<
    Omit<PairExample, 'chosen' | 'rejected'> & { chosenId: string; rejectedId: string }
  >(
    `with best as materialized ( -- before the join, which took 0.3 s until the tables' first analyze
       select * from reporting.pairs
        where campaign_id = $1::int
        order by hard_negative desc, kind = 'failure-failure' desc, iteration desc, for_role <> 'target',
                 rejected_reward desc, id collate "C"
        limit 1)
     select p.id as "pairId", p.iteration, p.for_role as "forRole", p.kind, p.hard_negative as "hardNegative",
            p.task_id as "taskId", k.goal, p.chosen_id as "chosenId", p.rejected_id as "rejectedId"
       from best p
       join reporting.tasks k on k.campaign_id = p.campaign_id and k.id = p.task_id`,
    [campaignId],
  );
  if (!rows[0]) return null;
  const { chosenId, rejectedId, ...pair } = rows[0];
  const shown = await listShownAttempts(client, campaignId, [chosenId, rejectedId]);
  return { ...pair, chosen: shown.get(chosenId)!, rejected: shown.get(rejectedId)! };
}

/** Returns attempts with their turns, by id. */
async function listShownAttempts(
  client: pg.ClientBase,
  campaignId: number,
  trajectoryIds: readonly string[],
): Promise<Map<string, ShownAttempt>> {
  const { rows } = await client.query<ShownAttempt>(
    `select t.id as "trajectoryId", t.policy_id as "policyId", t.role, t.iteration, t.reward,
            t.stop_reason as "stopReason",
            coalesce((select json_agg(json_build_object('action', s.action, 'observation', s.observation)
                                      order by s.ordinal)
                        from reporting.turns s
                       where s.campaign_id = t.campaign_id and s.attempt_id = t.id), '[]') as turns
       from reporting.attempts t
      where t.campaign_id = $1::int and t.id = any($2::text[])`,
    [campaignId, trajectoryIds],
  );
  return new Map(rows.map((row) => [row.trajectoryId, row]));
}
