import type pg from 'pg';
import { percent, shortHash } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import { type CampaignHeader, defineSection } from './campaign-data';
import { number, table, text } from '../../tables/table';

/** Definitions of the report's words and numbers, row counts and the resolved spec. */
export const definitionsSection = defineSection({
  id: 'reading',
  title: 'How to read this',
  queries: { rowCounts: countRows },
  body: ({ campaign, rowCounts }) => [
    html`<dl class="words">
      ${definitions(percent(campaign.confidence), String(campaign.hardNegativeReward)).map(
        ([word, meaning]) =>
          html`<dt>${word}</dt>
            <dd>${meaning}</dd>`,
      )}
    </dl>`,
    table('Rows of this campaign in the read model', Object.entries(rowCounts), [
      text('view', ([name]) => name),
      number('rows', ([, rows]) => rows),
    ]),
    resolvedSpec(campaign),
  ],
});

const definitions = (level: string, hardFrom: string): [string, string][] => [
  [
    'Success and reward',
    'An attempt is scored by its environment with a reward from 0 to 1. It is a success only at exactly 1. ' +
      'An attempt that ended in a fault has no reward and is not counted.',
  ],
  [
    'Held-out tasks, dev and test',
    'Tasks that no agent trains on and that no synthesized task may equal. The promotion gate reads the set dev, ' +
      'so the best of several candidates scores higher there than on new tasks. No choice reads the test set.',
  ],
  [
    'Intervals',
    `Success rates have Wilson’s ${level} interval. Differences of mean reward have a ${level} interval from a paired ` +
      'bootstrap over tasks: one that includes 0 is compatible with no change.',
  ],
  [
    'McNemar p',
    'The exact two-sided test on the tasks that only one of two policies solves, or solves more often where each has several ' +
      'attempts: the probability that a fair coin splits them at least this unevenly.',
  ],
  [
    'Candidate, incumbent, promotion',
    'Each iteration trains a candidate for the target role. The incumbent is the active policy until then. ' +
      'The gate promotes the candidate or keeps the incumbent; both remain stored.',
  ],
  [
    'Failure agent, hard negative',
    'The failure agent is trained to prefer better failures over worse ones, and supplies the target with ' +
      `negatives that are hard to distinguish from success (arXiv:2511.22254). A failure with reward of at least ${hardFrom} is a ` +
      'hard negative. If its share of attempts with reward 1 approaches that of the target, it has become a second target.',
  ],
  [
    'Feedback signals',
    'Forgetting: a task that was solved before scores low now. Boundary: attempts at one task both succeed and fail. ' +
      'Rare: an attempt contains a rare pattern of actions (arXiv:2604.15840).',
  ],
  [
    'Preference pair',
    'Two attempts at one task, the chosen one with strictly the higher reward. Expert kinds pair an attempt with the task’s ' +
      'reference actions; failure-failure pairs two failures.',
  ],
  [
    'Time',
    'Phase times are wall-clock time. Attempt time is summed over attempts, many of which run in parallel, and can exceed it.',
  ],
];

const resolvedSpec = ({ spec, specHash }: CampaignHeader): Html =>
  html`<details>
    <summary>Resolved spec <code>sha256 ${shortHash(specHash)}</code></summary>
    <pre>${JSON.stringify(spec, null, 2)}</pre>
  </details>`;

const countedViews = [
  'iterations',
  'tasks',
  'attempts',
  'turns',
  'faults',
  'signals',
  'pairs',
  'training_runs',
  'training_examples',
  'policies',
  'evaluations',
  'promotions',
  'events',
  'spending',
] as const;

/** Counts the rows of the campaign in views of the read model. */
export async function countRows(client: pg.ClientBase, campaignId: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ view: string; count: number }>(
    countedViews
      .map((view) => `select '${view}' as "view", count(*)::int from reporting.${view} where campaign_id = $1::int`)
      .join(' union all '),
    [campaignId],
  );
  return Object.fromEntries(rows.map((row) => [row.view, row.count]));
}
