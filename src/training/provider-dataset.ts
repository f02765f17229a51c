import { z } from 'zod';
import { DomainError } from '../domain/errors';
import { providerRoles } from '../llm/provider-roles';
import type { ChatMessage } from '../store/trajectories';

export type ProviderDataset = {
  /** JSON, without line ends. */
  lines: string[];
  /** Rows that the provider's format cannot express, by reason. */
  dropped: Record<string, number>;
};

/**
 * A dataset of ours in the chat formats of OpenAI's fine-tuning.
 *
 * `sft`: the conversation up to its last action, whose actions are all trained on. `dpo`: that method compares one last
 * message of the assistant under one conversation, and a pair of ours is two trajectories. What they share until their
 * first different action is that conversation, and the two actions are compared; what follows them is left out. A pair
 * whose environments differ before its actions do has no such place, nor has one with the same actions.
 *
 * @param rows as src/training/dataset.ts writes them
 * @throws DomainError `NotText` when a row holds token ids in text's place
 */
export function providerDataset(rows: readonly string[], method: 'sft' | 'dpo'): ProviderDataset {
  const dropped: Record<string, number> = {};
  const lines = rows.flatMap((row, index) => {
    const made = method === 'sft' ? demonstration(read(trajectory, row, index)) : comparison(read(pair, row, index));
    if (typeof made !== 'string') return [JSON.stringify(made)];
    dropped[made] = (dropped[made] ?? 0) + 1;
    return [];
  });
  return { lines, dropped };
}

const trajectory = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
const pair = z.object({ chosen: trajectory, rejected: trajectory });

function read<T>(schema: z.ZodType<T>, row: string, index: number): T {
  const parsed = schema.safeParse(JSON.parse(row));
  if (parsed.success) return parsed.data;
  throw new DomainError('NotText', `row ${index + 1} holds token ids: a provider trains on text alone`);
}

type Trajectory = z.output<typeof trajectory>;

function demonstration({ messages }: Trajectory): object | string {
  const last = messages.findLastIndex(isAction);
  return last < 0 ? 'no-action' : { messages: providerRoles(messages.slice(0, last + 1)) };
}

function comparison({ chosen, rejected }: z.output<typeof pair>): object | string {
  const place = chosen.messages.findIndex((message, n) => !isSame(message, rejected.messages[n]));
  const [preferred, other] = [chosen.messages[place], rejected.messages[place]];
  if (!preferred || !other) return 'same-actions'; // one goes on where the other ends
  if (!isAction(preferred) || !isAction(other)) return 'environments-differ';
  return {
    input: { messages: providerRoles(chosen.messages.slice(0, place)) },
    preferred_output: [preferred],
    non_preferred_output: [other],
  };
}

const isAction = ({ role }: ChatMessage): boolean => role === 'assistant';

const isSame = (one: ChatMessage, other: ChatMessage | undefined): boolean =>
  one.role === other?.role && one.content === other.content;
