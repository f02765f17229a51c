import { z } from 'zod';
import { parseExact } from '../../input/exact-json';
import { parseJson } from '../../input/parse-json';
import { tagged, writtenCall } from '../../input/written-call';

/** A message of a conversation. `isTrained` is false if a field of the file leaves it out of the loss. */
export type ConversationTurn = { isAnswer: boolean; text: string; isTrained: boolean };

const answering: readonly string[] = ['gpt', 'assistant', 'model', 'bot', 'chatgpt', 'function_call'];
const others = ['system', 'developer', 'human', 'user', 'tool', 'observation', 'function', 'functions', 'environment'];
const speaker = z.enum([...answering, ...others]);

/** Fields that leave a message out of the loss: of AgentGym, of OpenAI's fine-tuning, of TRL and axolotl. */
const marks = {
  loss: z.boolean().nullish(),
  weight: z.union([z.literal(0), z.literal(1)]).nullish(),
  train: z.boolean().nullish(),
};
const isTrained = ({ loss, weight, train }: z.infer<z.ZodObject<typeof marks>>): boolean =>
  loss !== false && weight !== 0 && train !== false;

/** Turns of ETO, AgentGym and ShareGPT, whose function calls are JSON. */
export const turnWithValue = z.object({ from: speaker, value: z.string(), ...marks }).transform((turn) => ({
  isAnswer: answering.includes(turn.from),
  text: turn.from === 'function_call' ? callOf(turn.value) : turn.value,
  isTrained: isTrained(turn),
}));

const call = z.object({ name: z.string(), arguments: z.unknown() });
const calls = z.array(z.object({ function: call }));
const parts = z.array(z.object({ type: z.literal('text'), text: z.string() }));

/** Messages of OpenAI, TRL and verl. */
export const message = z
  .object({ role: speaker, content: z.union([z.string(), parts]).nullish(), tool_calls: calls.nullish(), ...marks })
  .transform(({ role, content, tool_calls: called, ...rest }) => {
    const text = typeof content === 'string' ? content : content?.map((part) => part.text).join('');
    const written = called?.map(({ function: { name, arguments: args } }) => writtenCall(name, args)) ?? [];
    return {
      isAnswer: answering.includes(role),
      text: [text, ...written].filter(Boolean).join('\n'),
      isTrained: isTrained(rest),
    };
  });

/** Returns a call as a policy writes it, or the text if it is none. */
function callOf(value: string): string {
  const { data } = call.safeParse(parseJson(value));
  if (!data) return value;
  return 'problem' in parseExact(value) ? tagged(value.trim()) : writtenCall(data.name, data.arguments);
}
