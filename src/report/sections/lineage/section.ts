import { absence, agentName, lead } from '../../page/blocks';
import { count, rate, shortHash } from '../../page/format';
import { type Content, html, type Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { findLineage, type Lineage } from './query';

/** One synthesized task, from the checkpoint that was trained on it back to the attempt that raised its signal. */
export const lineageSection = defineSection({
  id: 'lineage',
  title: 'Lineage of a checkpoint',
  queries: { lineage: findLineage },
  render({ campaign, lineage }) {
    if (!lineage) return absence(campaign, 'synthesize', 'No policy was trained on a synthesized task');
    return [
      lead('One of the stored chains, from a checkpoint back to the attempt that raised the signal.'),
      html`<ol class="chain">
        ${links(lineage).map(([name, text]) => html`<li><b>${name}</b>${text}</li>`)}
      </ol>`,
    ];
  },
});

function links(l: Lineage): [string, Html][] {
  const code = (text: string): Html => html`<code>${text}</code>`;
  const trajectory = (id: string, reward: number | null): Content => [code(id), ` (reward ${rate(reward)})`];
  const rejected = l.rejectedId === null ? null : html` over ${trajectory(l.rejectedId, l.rejectedReward)}`;
  return [
    ['checkpoint', html`${code(shortHash(l.policyId))}, ${agentName(l.policyRole)} of iteration ${l.policyIteration}`],
    ['training run', html`${code(l.jobKey)}, method ${l.method}, row ${count(l.ordinal)} of its data`],
    ...(l.pairId === null ? [] : [['pair', html`${code(l.pairId)}, ${l.pairKind}`] as [string, Html]]),
    [l.pairId === null ? 'trajectory' : 'trajectories', html`${trajectory(l.chosenId, l.chosenReward)}${rejected}`],
    ['synthesized task', html`${code(l.taskId)} “${l.taskGoal}”`],
    ['signal', html`${code(l.signalId)}, ${l.signalKind}`],
    [
      'attempt that raised it',
      html`${trajectory(l.signalTrajectoryId, l.signalReward)} at ${code(l.parentTaskId)} “${l.parentGoal}”`,
    ],
  ];
}
