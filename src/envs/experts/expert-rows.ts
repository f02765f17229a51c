import type { ReferenceTrajectory } from './reference-trajectories';

export const expertFormats = ['trl', 'sharegpt', 'eto'] as const;
export type ExpertFormat = (typeof expertFormats)[number];

type Message = { role: string; content: string };
type Turn = { from: 'system' | 'human' | 'gpt'; value: string };

/**
 * One JSON line per trajectory.
 *
 * - `trl`: `messages` for SFTTrainer, roles as the environment gave them
 * - `sharegpt`: `conversations` of system, human and gpt
 * - `eto`: `conversations` of human and gpt alone, as ETO's data: the instruction, "OK", then the task and the actions
 */
export function expertRow({ task_id: id, conversation, reward }: ReferenceTrajectory, format: ExpertFormat): string {
  if (format === 'trl') return line({ messages: conversation, task_id: id }, reward);
  return line({ id, conversations: format === 'eto' ? etoTurns(conversation) : shareGptTurns(conversation) }, reward);
}

const shareGptTurns = (conversation: readonly Message[]): Turn[] =>
  merged(conversation.map(({ role, content }) => ({ from: speakerOf(role), value: content })));

function etoTurns(conversation: readonly Message[]): Turn[] {
  const instruction = conversation.filter(({ role }) => role === 'system').map(({ content }) => content);
  const rest = conversation.filter(({ role }) => role !== 'system');
  const opening: Turn[] = instruction.length
    ? [
        { from: 'human', value: instruction.join('\n') },
        { from: 'gpt', value: 'OK' },
      ]
    : [];
  return [...opening, ...merged(rest.map(({ role, content }) => ({ from: speakerOf(role), value: content })))];
}

const speakerOf = (role: string): Turn['from'] =>
  role === 'assistant' ? 'gpt' : role === 'system' ? 'system' : 'human';

/** What the environment says in several messages is one turn; an expert's actions stay apart, with a turn between them. */
function merged(turns: readonly Turn[]): Turn[] {
  const kept: Turn[] = [];
  for (const turn of turns) {
    const last = kept.at(-1);
    if (last?.from === turn.from && turn.from === 'gpt') kept.push({ from: 'human', value: '' }, { ...turn });
    else if (last?.from === turn.from) last.value += `\n${turn.value}`;
    else kept.push({ ...turn });
  }
  return kept;
}

/** The reward keeps its point: a reader that guesses types from the first rows must not take it for an integer. */
const line = (columns: object, reward: number): string =>
  `${JSON.stringify(columns).slice(0, -1)},"reward":${Number.isInteger(reward) ? reward.toFixed(1) : reward}}`;
