import { absence, agentName, lead, note } from '../../page/blocks';
import { count, rate } from '../../page/format';
import { html, type Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { functionsRole } from '../../../domain/rollout/functions';
import {
  findPairExample,
  listTaskExamples,
  type Message,
  type PairExample,
  type ShownAttempt,
  type TaskExample,
} from './query';

/** Attempts side by side, for a comparison by eye. */
export const attemptsSection = defineSection({
  id: 'attempts',
  title: 'Attempts side by side',
  queries: { taskExamples: listTaskExamples, pairExample: findPairExample },
  render: ({ campaign, outcome, taskExamples, pairExample }) => [
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
    <p class="player">${name} <span class="badge ${rewardClass(reward)}">reward ${rate(reward)}</span></p>
    ${turns.length === 0 ? note('No turn was stored.') : turns.map(turn)}
    <p class="note">${stopReason} <code>${trajectoryId}</code></p>
  </div>`;

const rewardClass = (reward: number): string => (reward === 1 ? 'success' : reward > 0 ? 'partial' : 'failed');

const turn = ({ action, observation }: ShownAttempt['turns'][number]): Html =>
  html`<pre class="action">${cut(action)}</pre>
    ${observation.map((message) => html`<pre class="observation" title="${message.role}">${textOf(message)}</pre>`)}`;

/** A stored list of functions has its sha256 as content. */
const textOf = ({ role, content }: Message): string =>
  role === functionsRole ? `other functions from here on: list ${content.slice(0, 12)}` : cut(content);

/** In characters. Longer actions and observations are cut: a schema dump would hide the comparison. */
const maxTextLength = 900;

const cut = (text: string): string =>
  text.length <= maxTextLength
    ? text
    : `${text.slice(0, maxTextLength)}\n… ${count(text.length - maxTextLength)} more characters`;
