import { functionsRole } from '../../domain/rollout/functions';
import type { ExampleTask } from '../../domain/tasks/nearest-goals';
import type { ExplorationOutcome } from '../../domain/tasks/exploration';
import { shortened, startOf } from './shortened';
import { formatObservation, type TranscriptTurn } from './transcript';

/** An earlier exploration run of the same context. */
export type EarlierRun = { outcome: ExplorationOutcome; turns: readonly TranscriptTurn[] };

/** Characters of an action and of its observation, of a goal, and the number of actions: 100 lines have about 10,000 tokens. */
const [maxAction, maxResult, maxGoal, maxActions] = [160, 120, 200, 100];

/**
 * Returns what earlier runs did and how they ended, each different action once with the start of its observation; empty
 * without a run. Of many actions the last ones are shown. They stand in sentences: small models copied a list of
 * `- action -> result`, with its marks, into their actions.
 */
export function formatEarlierRuns(runs: readonly EarlierRun[]): string {
  if (runs.length === 0) return '';
  const seen = new Set<string>();
  const shown = runs.flatMap(({ turns }, index) =>
    turns.flatMap(({ action, observation }) => {
      if (seen.has(action)) return [];
      seen.add(action);
      const result = formatObservation(observation.filter(({ role }) => role !== functionsRole));
      return [{ index, line: `It sent ${quoted(action, maxAction)} and saw ${quoted(result, maxResult)}.` }];
    }),
  );
  const recent = shown.slice(-maxActions);
  const text = runs.map(({ outcome, turns }, index) => {
    const lines = recent.filter((line) => line.index === index).map(({ line }) => line);
    return [`Run ${index + 1} ended after ${turns.length} actions (${outcome}).`, ...lines].join('\n');
  });
  return `\n\nEarlier runs did the following. Do not repeat it: take up something else, or go on from what it brought to light.
<earlier-runs>\n${text.join('\n')}\n</earlier-runs>`;
}

/** Returns the goals of existing tasks as a block; empty without a goal. */
export const formatGoals = (goals: readonly string[]): string =>
  goals.length === 0
    ? ''
    : `\n\nTasks that exist already, the nearest ones first. New tasks must ask for something else:
<existing-tasks>\n${goals.map((goal) => `- ${shortened(onOneLine(goal), maxGoal)}`).join('\n')}\n</existing-tasks>`;

/**
 * Returns solved tasks of the environment as a block; empty without one. `show` writes one of them in the notation of the
 * prompt.
 */
export function formatExamples(examples: readonly ExampleTask[], show: (example: ExampleTask) => string): string {
  if (examples.length === 0) return '';
  const shown = examples.map((task) => show({ ...task, actions: task.actions.slice(0, maxSteps) }));
  return `\n\nSolved tasks of this environment, which exist already. They show how requests and actions look here; do not copy them:
<examples>\n${shown.join('\n')}\n</examples>`;
}

/** Actions of an example: the first ones show the notation. */
const maxSteps = 10;

const onOneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

/** Returns the start of a text in quotes, and behind them the number of characters left out, which is no part of the text. */
function quoted(text: string, limit: number): string {
  const [whole, start] = [onOneLine(text), startOf(onOneLine(text), limit)];
  return `"${start}"${start === whole ? '' : ` (${whole.length - start.length} more characters)`}`;
}
