import type OpenAI from 'openai';
import type { ChatMessage } from '../domain/rollout/turn';
import type { Provider } from './providers';
import type { ResponseFormat } from './response-format';

/** A setting that is null is not sent: many reasoning models reject a temperature, and some servers a seed. */
export type ChatSettings = {
  model: string;
  messages: readonly ChatMessage[];
  temperature: number | null;
  seed: number | null;
  /** Limit of the answer with its thinking. */
  tokenLimit: number;
  reasoningEffort: string | null;
  /** Is null for free text. */
  responseFormat: ResponseFormat | null;
  /** Further keys of the request, in the provider's names. */
  body: Readonly<Record<string, unknown>>;
};

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Returns the body of a request in the OpenAI protocol. */
export function chatBodyOf(settings: ChatSettings, { tokenLimitField }: Pick<Provider, 'tokenLimitField'>): Body {
  const { model, messages, temperature, seed, tokenLimit, reasoningEffort, responseFormat, body } = settings;
  return {
    ...body,
    model,
    messages: messages as OpenAI.ChatCompletionMessageParam[],
    [tokenLimitField]: tokenLimit,
    ...(temperature !== null && { temperature }),
    ...(seed !== null && { seed }),
    ...(reasoningEffort !== null && { reasoning_effort: reasoningEffort as OpenAI.ReasoningEffort }),
    ...(responseFormat !== null && { response_format: responseFormat }),
  };
}

type Rejection = { status: number | undefined; message: string; param?: unknown };

const refusal =
  /unsupported|not\s+support|unrecogni[sz]ed|unknown|unexpected|extra|not\s+permitted|not\s+allowed|only the default|deprecated/i;

const formatKey = 'response_format';

/** Servers also name the kind of the format, or a part of the schema. */
const format = /response_format|json_schema|json_object|guided|grammar/i;

/**
 * Returns advice for a rejected request: which setting to change if the server refuses a parameter that was sent.
 * OpenAI's servers name it in `param`, others only in the message. Undefined for other errors.
 */
export function adviceOnParameter(
  { status, message, param }: Rejection,
  sent: object,
  provider: string,
): string | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const keys = Object.keys(sent).filter((key) => key !== 'model' && key !== 'messages');
  if (keys.includes(formatKey) && (param === formatKey || format.test(message))) return adviceFor(formatKey, provider);
  const named = keys.find((key) => key === param) ?? (refusal.test(message) ? firstOf(keys, message) : undefined);
  return named && adviceFor(named, provider);
}

/** Returns the key that a text mentions first, as a whole word. */
function firstOf(keys: readonly string[], text: string): string | undefined {
  const words = text.split(/[^\w]+/);
  return keys
    .map((key) => ({ key, at: words.indexOf(key) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0]?.key;
}

function adviceFor(key: string, provider: string): string {
  const ofModel = (setting: string): string =>
    `the server refuses "${key}": set ${setting} for this model in llm.models of a new campaign or of a \`coevolve fork\``;
  const otherLimit = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' }[key];
  if (otherLimit)
    return `the server refuses "${key}": set tokenLimitField: ${otherLimit} of "${provider}" in the file of COEVOLVE_LLM_PROVIDERS, run \`coevolve up\` again, then \`coevolve resume\` the campaign`;
  if (key === 'temperature' || key === 'seed') return ofModel(`${key}: null`);
  if (key === formatKey) return ofModel('structured: none');
  return ofModel(key === 'reasoning_effort' ? 'reasoningEffort: null' : `body without ${key}`);
}
