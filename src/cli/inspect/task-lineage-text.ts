import { forkOrigin } from '../../domain/campaign/fork-origin';
import type { TaskLineage } from '../../store/tasks/task-lineage';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats the lineage of a task from its signal to its validation, one paragraph per step. */
export function taskLineageText(lineage: TaskLineage): string {
  return [
    head(lineage),
    signal(lineage),
    context(lineage),
    exploration(lineage),
    abstraction(lineage),
    validation(lineage),
  ]
    .filter((paragraph) => paragraph !== null)
    .join('\n\n');
}

function head({ campaign, task, parent, ...origin }: TaskLineage): string {
  const from = forkOrigin(origin);
  const verdict = task.reason ? `${task.verdict}: ${task.reason}` : task.verdict;
  return [
    `task ${task.id} of campaign ${campaign}${from ? ` (forked from ${from})` : ''}`,
    `${task.origin}, iteration ${task.createdIteration}, ${verdict}, rewarded by the ${task.grader}`,
    `goal: ${task.goal}`,
    ...task.referenceActions.map((action, index) => `  ${index + 1}. ${action}`),
    ...(parent ? [`parent: ${parent.id} (${parent.goal})`] : []),
  ].join('\n');
}

function signal({ signal: raised, trajectories }: TaskLineage): string | null {
  if (!raised) return null;
  const detail = Object.entries(raised.detail).map(([name, value]) => `${name} ${value}`);
  const played = terminalTable(trajectories, [
    text('', (t) => (t.raised ? '>' : '')),
    text('trajectory', (t) => t.id),
    number('reward', (t) => t.reward, String),
  ]);
  return [`signal ${raised.id}: ${detail.join(', ')}`, played].join('\n');
}

function context({ context: reflected }: TaskLineage): string | null {
  if (!reflected) return null;
  const { id, callId, context: found, failure } = reflected;
  if (failure) return `context ${id}: ${failure.type}, ${failure.detail}`;
  if (!found) return `context ${id}: unguided`;
  const list = (name: string, items: readonly string[]): string[] =>
    items.length > 0 ? [`  ${name}: ${items.join('; ')}`] : [];
  return [
    `context ${id} (call ${callId})`,
    `  summary: ${found.summary}`,
    `  cause: ${found.failureCause}`,
    `  instability: ${found.instabilityPattern}`,
    ...list('focus', found.focusPatterns),
    ...list('objectives', found.explorationObjectives),
    ...list('not again', found.doNotRepeat),
  ].join('\n');
}

function exploration({ runs }: TaskLineage): string | null {
  if (runs.length === 0) return null;
  const explored = terminalTable(runs, [
    text('run', (run) => run.id),
    ...properties('outcome', 'turns'),
    number('reward', (run) => run.reward, String),
    ...properties('fault'),
  ]);
  return ['explored in', explored].join('\n');
}

function abstraction({ abstraction: made, task }: TaskLineage): string | null {
  if (!made) return null;
  return [
    `abstraction ${made.id} (call ${made.callId}): ${made.candidates} candidates`,
    `  description: ${task.description}`,
    `  confidence: ${task.confidence}`,
    `  completed when: ${task.completionCriterion}`,
  ].join('\n');
}

function validation({ validation: { trajectory, verdicts, judgements } }: TaskLineage): string {
  const played = trajectory
    ? [`  ${trajectory.id}: ${trajectory.outcome}, reward ${trajectory.reward ?? '-'}, ${trajectory.turns} turns`]
    : [];
  const judged = judgements.map(
    ({ completed, judge, reason }) =>
      `  judged ${completed === null ? 'unusable' : completed ? 'completed' : 'not completed'} by ${judge}: ${reason}`,
  );
  const decided = verdicts.map(({ stage, passed, reason }) => `  ${passed ? 'passed' : 'failed'} ${stage}: ${reason}`);
  const lines = [...played, ...judged, ...decided];
  return ['validation', ...(lines.length > 0 ? lines : ['  none'])].join('\n');
}
