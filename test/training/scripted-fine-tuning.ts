import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type File = { id: string; filename: string; bytes: number; status: string; purpose: string; text: string };
type Event = { type: 'message' | 'metrics'; message: string; data?: unknown };
type Job = {
  id: string;
  created_at: number;
  finished_at: number | null;
  status: string;
  fine_tuned_model: string | null;
  trained_tokens: number | null;
  error: { code: string; message: string; param: null } | null;
  metadata?: Record<string, string>;
  events: Event[];
} & Record<string, unknown>;

/** `before`: the connection breaks and nothing was done; `after`: it was done, and the answer is lost. */
type Trouble = { route: string; when: 'before' | 'after' } | { route: string; status: number; message?: string };

export type ScriptedFineTuning = {
  /** With its /v1. */
  url: string;
  files: File[];
  jobs: Job[];
  chats: { model: string; messages: unknown[] }[];
  /** `POST /files` and so on, in order. */
  requests: string[];
  /** Happens to the next request of its route. */
  trouble(next: Trouble): void;
  stop(): Promise<void>;
};

const key = 'secret-key';
/** Small, so that whoever lists has to turn pages. */
const pageSize = 2;

/**
 * A provider behind the parts of OpenAI's protocol that fine-tuning takes: files, jobs, their events, and chat with
 * what came of them. Jobs stay as they are until the test changes them.
 */
export async function startScriptedFineTuning(): Promise<ScriptedFineTuning> {
  const state = { files: [] as File[], jobs: [] as Job[], chats: [] as ScriptedFineTuning['chats'] };
  const requests: string[] = [];
  const troubles: Trouble[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const url = new URL(request.url ?? '', 'http://localhost');
      const route = `${request.method} ${url.pathname.replace('/v1', '')}`;
      requests.push(route);
      if (request.headers.authorization !== `Bearer ${key}`)
        return send(response, 401, errorOf(`wrong key ${request.headers.authorization}`, 'invalid_api_key'));
      const at = troubles.findIndex((trouble) => trouble.route === route);
      const [trouble] = at < 0 ? [] : troubles.splice(at, 1);
      if (trouble && 'status' in trouble)
        return send(response, trouble.status, errorOf(trouble.message ?? `status ${trouble.status}`));
      if (trouble?.when === 'before') return void response.destroy();
      const { status = 200, answer } = answerTo(route, url.searchParams, body, state);
      if (trouble) return void response.destroy();
      send(response, status, answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    ...state,
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests },
    trouble: (next) => void troubles.push(next),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A job that has come to its end, with what it told on its way. */
export function finish(job: Job, model: string): void {
  Object.assign(job, {
    status: 'succeeded',
    fine_tuned_model: model,
    trained_tokens: 1234,
    finished_at: job.created_at + 60,
  });
}

export const metricsEvent = (step: number, loss: number): Event => ({
  ...{ type: 'metrics', message: `Step ${step}/4: training loss=${loss}` },
  data: { step, train_loss: loss, total_steps: 4, train_mean_token_accuracy: 0.5 },
});

type State = Pick<ScriptedFineTuning, 'files' | 'jobs' | 'chats'>;
type Answer = { status?: number; answer: unknown };

function answerTo(route: string, query: URLSearchParams, body: string, state: State): Answer {
  const [, id = '', verb = ''] = /\/fine_tuning\/jobs\/([^/]+)\/?(\w*)$/.exec(route) ?? [];
  const job = state.jobs.find((one) => one.id === id);
  if (id && !job) return { status: 404, answer: errorOf(`no job ${id}`) };
  if (job && verb === 'events')
    return {
      answer: page(
        [...job.events].reverse().map((e, n) => ({ ...e, id: `e${n}` })),
        query,
      ),
    };
  if (job && verb === 'cancel') job.status = 'cancelled';
  if (job) return { answer: shown(job) };
  switch (route) {
    case 'POST /files':
      return { answer: addFile(state, body) };
    case 'GET /files':
      return { answer: page(state.files.map(({ text: _, ...file }) => file).reverse(), query) };
    case 'POST /fine_tuning/jobs':
      return { answer: shown(addJob(state, JSON.parse(body) as Record<string, unknown>)) };
    case 'GET /fine_tuning/jobs':
      return {
        answer: page(
          state.jobs
            .filter((one) => isAsked(one, query))
            .map(shown)
            .reverse(),
          query,
        ),
      };
    case 'POST /chat/completions':
      return { answer: chat(state, JSON.parse(body) as { model: string; messages: unknown[] }) };
    default:
      return { status: 404, answer: errorOf(`no route ${route}`) };
  }
}

function addFile({ files }: State, body: string): object {
  const [, filename = ''] = /filename="([^"]+)"/.exec(body) ?? [];
  const [, text = ''] = /filename="[^"]+"\r\n[^]*?\r\n\r\n([^]*?)\r\n--/.exec(body) ?? [];
  const file = { id: `file-${files.length + 1}`, filename, text, bytes: Buffer.byteLength(text) };
  const { text: _, ...told } = { ...file, status: 'processed', purpose: 'fine-tune' };
  files.push({ ...told, text });
  return { object: 'file', ...told };
}

function addJob({ jobs }: State, request: Record<string, unknown>): Job {
  const job: Job = {
    ...request,
    ...{ id: `ftjob-${jobs.length + 1}`, created_at: 1000 + jobs.length, finished_at: null, status: 'running' },
    ...{ fine_tuned_model: null, trained_tokens: null, error: null, events: [] },
  };
  jobs.push(job);
  return job;
}

const shown = ({ events: _, ...job }: Job): object => ({ object: 'fine_tuning.job', ...job });

function isAsked({ metadata }: Job, query: URLSearchParams): boolean {
  const filters = [...query].flatMap(([name, value]) => {
    const [, wanted] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
    return wanted ? [[wanted, value] as const] : [];
  });
  return filters.every(([name, value]) => metadata?.[name] === value);
}

function chat({ chats }: State, { model, messages }: { model: string; messages: unknown[] }): object {
  chats.push({ model, messages });
  const message = { role: 'assistant', content: `${model} says 1`, refusal: null };
  return {
    ...{ id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] },
    usage: { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 },
  };
}

function page(items: object[], query: URLSearchParams): object {
  const ids = items.map((item) => (item as { id: string }).id);
  const from = ids.indexOf(query.get('after') ?? '') + 1;
  const data = items.slice(from, from + pageSize);
  return {
    object: 'list',
    data,
    has_more: from + pageSize < items.length,
    last_id: ids[from + data.length - 1] ?? null,
  };
}

const errorOf = (message: string, code: string | null = null): object => ({ error: { message, type: 'error', code } });

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
