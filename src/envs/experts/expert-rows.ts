import type { ReferenceTrajectory } from './reference-trajectories';

export const expertFormats = ['trl', 'sharegpt', 'eto'] as const;
export type ExpertFormat = (typeof expertFormats)[number];

type Message = { role: string; content: string };
type Turn = { from: 'system' | 'human' | 'gpt'; value: string };

/**
 * Formats a trajectory as one JSON line.
 *
 * - `trl`: `messages` for SFTTrainer, with the roles of the environment
 * - `sharegpt`: `conversations` of system, human and gpt
 * - `eto`: `conversations` of only human and gpt, as in ETO's data: the instruction, "OK", then the task and the actions
 */
export function expertRow({ task_id: id, conversation, reward }: ReferenceTrajectory, format: ExpertFormat): string {
  if (format === 'trl') return line({ messages: conversation, task_id: id }, reward);
  return line({ id, conversations: format === 'eto' ? etoTurns(conversation) : shareGptTurns(conversation) }, reward);
}

const shareGptTurns = (conversation: readonly Message[]): Turn[] =>
  mergeTurns(conversation.map(({ role, content }) => ({ from: speakerOf(role), value: content })));

function etoTurns(conversation: readonly Message[]): Turn[] {
  const instruction = conversation.filter(({ role }) => role === 'system').map(({ content }) => content);
  const opening: Turn[] = instruction.length
    ? [
        { from: 'human', value: instruction.join('\n') },
        { from: 'gpt', value: 'OK' },
      ]
    : [];
  return [...opening, ...shareGptTurns(conversation.filter(({ role }) => role !== 'system'))];
}

const speakerOf = (role: string): Turn['from'] =>
  role === 'assistant' ? 'gpt' : role === 'system' ? 'system' : 'human';

/** Merges consecutive messages of the environment into one turn; an empty turn separates consecutive actions. */
function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.from === turn.from && turn.from === 'gpt') merged.push({ from: 'human', value: '' }, { ...turn });
    else if (last?.from === turn.from) last.value += `\n${turn.value}`;
    else merged.push({ ...turn });
  }
  return merged;
}

/** Writes whole rewards with a decimal point: a reader that infers types from the first rows must not infer an integer. */
const line = (columns: object, reward: number): string =>
  `${JSON.stringify(columns).slice(0, -1)},"reward":${Number.isInteger(reward) ? reward.toFixed(1) : reward}}`;
