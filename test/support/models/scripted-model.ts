import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChatMessage } from '../../../src/domain/rollout/turn';

/** Request as a rule gets it. */
export type ModelRequest = {
  kind: 'chat' | 'embeddings';
  model: string;
  messages: ChatMessage[]; // of a chat
  input: string[]; // of embeddings
  body: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** The header x-client-request-id. */
  id: string | undefined;
  /** Number of previous requests. */
  ordinal: number;
};

/** Answer of a rule; undefined means "ok" for a chat and `wordVector` of each text for embeddings. */
export type ModelAnswer =
  | undefined
  | string
  | {
      text: string;
      thinking?: string; // apart from the text, as `reasoning_content`
      finishReason?: 'stop' | 'length' | 'content_filter';
      delayMs?: number;
      withoutUsage?: boolean;
    }
  | { refusal: string }
  | { vectors: number[][] }
  | { status: number; headers?: Record<string, string>; message?: string; code?: string; param?: string }
  | { raw: string } // the body unchanged, JSON or not
  | { lost: string } // computed and charged, but the connection breaks before it is sent
  | typeof hangUp
  | typeof silence;

/** Closes the connection and charges nothing. */
export const hangUp = { ends: 'hung-up' } as const;

/** Sends no response and charges nothing. */
export const silence = { ends: 'never' } as const;

export type Usage = { promptTokens: number; completionTokens: number };

export type LoggedRequest = ModelRequest & {
  /** `open`: no response yet; `aborted`: the caller disconnected; `hung-up`: the server closed the connection. */
  end: 'open' | 'answered' | 'aborted' | 'hung-up';
  /** HTTP status; null before the response. */
  status: number | null;
  /** Charged tokens, also of an undelivered answer; null without a charge. */
  usage: Usage | null;
};

export type ScriptedModel = {
  url: string;
  log: LoggedRequest[];
  /** Changes the rule for later requests; the log is kept. */
  answerBy(rule: Rule): void;
  /** Waits until `count` requests have arrived since the start. */
  arrived(count: number): Promise<void>;
  stop(): Promise<void>;
};

export type Rule = (request: ModelRequest) => ModelAnswer | Promise<ModelAnswer>;

/**
 * Starts a language model with the OpenAI protocol that answers by a rule: chat completions and embeddings, also slow,
 * malformed, refused and failing answers. It logs every request with its charge: a token per four characters, rounded up.
 */
export async function startScriptedModel(initial: Rule = () => undefined): Promise<ScriptedModel> {
  let rule = initial;
  const log: LoggedRequest[] = [];
  const server = createServer((request, response) => {
    void readRequest(request, log.length).then(async (received) => {
      const entry: LoggedRequest = { ...received, ordinal: log.length, end: 'open', status: null, usage: null };
      log.push(entry);
      response.on('close', () => {
        if (entry.end === 'open') entry.end = 'aborted';
      });
      await respond(response, entry, await applyRule(rule, entry));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    log,
    answerBy(next) {
      rule = next;
    },
    async arrived(count) {
      while (log.length < count) await sleep(2);
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const tokensOf = (text: string): number => Math.ceil(text.length / 4);

const dimension = 64;

/** Returns a bag-of-words vector: each word adds 1 at the index of its hash, so texts with the same words are parallel. */
export function wordVector(text: string): number[] {
  const vector = Array.from({ length: dimension }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    let hash = 7;
    for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) % 1_000_003;
    vector[hash % dimension]! += 1;
  }
  return vector;
}

async function readRequest(request: IncomingMessage, ordinal: number): Promise<ModelRequest> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const body = JSON.parse(text || '{}') as Record<string, unknown>;
  const id = request.headers['x-client-request-id'];
  return {
    kind: request.url?.endsWith('/embeddings') ? 'embeddings' : 'chat',
    model: String(body['model']),
    messages: (body['messages'] ?? []) as ChatMessage[],
    input: [body['input'] ?? []].flat() as string[],
    body,
    headers: request.headers,
    id: Array.isArray(id) ? id[0] : id,
    ordinal,
  };
}

/** Applies a rule; an exception, such as a failed assertion, becomes status 400, which callers do not retry. */
async function applyRule(rule: Rule, entry: LoggedRequest): Promise<ModelAnswer> {
  try {
    return await rule(entry);
  } catch (error) {
    return { status: 400, message: `the rule threw: ${String(error)}` };
  }
}

async function respond(response: ServerResponse, entry: LoggedRequest, answer: ModelAnswer): Promise<void> {
  if (answer === undefined) return respond(response, entry, entry.kind === 'chat' ? 'ok' : wordVectors(entry));
  if (typeof answer === 'string') return respond(response, entry, { text: answer });
  if ('ends' in answer) return answer.ends === 'never' ? undefined : cut(response, entry);
  if ('status' in answer) {
    const { status, headers, message = `status ${status}`, code = null, param = null } = answer;
    return send(response, entry, { status, headers, body: { error: { message, type: 'error', code, param } } });
  }
  if ('raw' in answer) return send(response, entry, { body: answer.raw });
  entry.usage = usageOf(entry, answer);
  if ('lost' in answer) return cut(response, entry);
  if ('text' in answer && answer.delayMs) await sleep(answer.delayMs, undefined, { ref: false });
  send(response, entry, { body: bodyOf(entry, answer) });
}

type Computed = Exclude<ModelAnswer, string | undefined | { status: number } | { raw: string } | { ends: string }>;

const wordVectors = ({ input }: ModelRequest): ModelAnswer => ({ vectors: input.map(wordVector) });

function usageOf({ messages, input }: ModelRequest, answer: Computed): Usage {
  const prompt = [...messages.map(({ content }) => content), ...input].join('');
  const completion =
    'text' in answer ? answer.text : 'lost' in answer ? answer.lost : 'refusal' in answer ? answer.refusal : '';
  return { promptTokens: tokensOf(prompt), completionTokens: tokensOf(completion) };
}

function bodyOf({ kind, model, usage }: LoggedRequest, answer: Computed): unknown {
  const counts = {
    prompt_tokens: usage!.promptTokens,
    ...(kind === 'chat' ? { completion_tokens: usage!.completionTokens } : {}),
    total_tokens: usage!.promptTokens + usage!.completionTokens,
  };
  if ('vectors' in answer) {
    const data = answer.vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
    return { object: 'list', model, data, usage: counts };
  }
  const refusal = 'refusal' in answer ? answer.refusal : null;
  const content = 'text' in answer ? answer.text : null;
  const reasoning = 'text' in answer && answer.thinking ? { reasoning_content: answer.thinking } : {};
  const message = { role: 'assistant', content, refusal, ...reasoning };
  const finish = 'text' in answer ? (answer.finishReason ?? 'stop') : 'stop';
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, message, finish_reason: finish, logprobs: null }],
    ...('text' in answer && answer.withoutUsage ? {} : { usage: counts }),
  };
}

type Sent = { status?: number; headers?: Record<string, string> | undefined; body: unknown };

function send(response: ServerResponse, entry: LoggedRequest, { status = 200, headers = {}, body }: Sent): void {
  if (response.destroyed) return; // the caller has disconnected: `aborted`
  entry.end = 'answered';
  entry.status = status;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function cut(response: ServerResponse, entry: LoggedRequest): void {
  entry.end = 'hung-up';
  response.destroy();
}
