import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import type { Reflection } from '../../domain/tasks/exploration';
import { fillTemplate } from './prompt';

const template = `Summary: {{summary}}
Why it fell short: {{failureCause}}
What is unreliable: {{instabilityPattern}}
Worth practising:
{{focusPatterns}}
To be tried out:
{{explorationObjectives}}
Not to be repeated:
{{doNotRepeat}}`;

/** Returns the reflector's findings in an attempt, for the explorer and the abstractor. */
export function formatFindings({ focusPatterns, explorationObjectives, doNotRepeat, ...found }: Reflection): string {
  const lists = { focusPatterns, explorationObjectives, doNotRepeat };
  const listed = Object.entries(lists).map(([name, items]) => [
    name,
    items.map((item) => `- ${item}`).join('\n') || '- (nothing)',
  ]);
  const values = { ...found, ...(Object.fromEntries(listed) as Record<string, string>) };
  return fillTemplate([{ role: 'user', content: template }], values)[0]!.content;
}

/** Why a context is explored. */
export type Aim = {
  kind: FeedbackSignalKind | 'random';
  /** Request of the parent: the flagged task, or the one in whose environment the runs were. */
  goal: string;
  /** Measured values of the signal; null without one. */
  detail: Record<string, number | string> | null;
  reflection: Reflection | null;
};

/** Relation of the wanted tasks to the parent, as in Fig. 9 and 10 of arXiv:2604.15840. */
const relations: Record<Aim['kind'], string> = {
  forgetting: `the agent could once solve the parent's request and now fails at it. Tasks are wanted that practise what it
has lost: the same operations with other values, objects and combinations, from simple to long.`,
  boundary: `of several attempts at the parent's request some succeed and some fail. Tasks are wanted at this line: as hard
as the parent, a little easier, a little harder, and decided by what separates success from failure.`,
  rare: `an attempt at the parent's request held a pattern of actions that the agent hardly ever shows. Tasks are wanted
that need this pattern, with other parameters, in other places and for other purposes.`,
  random: `no weakness is aimed at. Tasks of different kinds and levels of difficulty are wanted.`,
};

/** Returns the aim of a context for the abstractor: signal, relation to the parent, and findings. */
export function formatAim({ kind, goal, detail, reflection }: Aim): string {
  const measured = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${value}`);
  return [
    `${kind}: ${relations[kind]}`,
    ...(measured.length > 0 ? [`Measured: ${measured.join(', ')}`] : []),
    `Parent's request, which itself makes no new task: ${goal}`,
    ...(reflection ? [formatFindings(reflection)] : []),
  ].join('\n');
}
