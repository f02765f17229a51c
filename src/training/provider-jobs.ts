import OpenAI, { toFile } from 'openai';
import type { FileObject } from 'openai/resources/files';
import type { FineTuningJob, FineTuningJobEvent, JobCreateParams } from 'openai/resources/fine-tuning';
import { toModelError, type Boundary } from '../llm/model-error';
import type { Provider } from '../llm/providers';

/** Under this key a job's metadata carries its name, which is found again after a crash. */
const nameKey = 'coevolve_job';
const uploadTimeoutMs = 600_000;
const pageSize = 100;

export type ProviderJobs = ReturnType<typeof providerJobs>;

/**
 * Files and fine-tuning jobs of one provider, behind OpenAI's protocol. The client retries nothing: retries are
 * Temporal's. Every call throws a ModelError.
 */
export function providerJobs(provider: Provider) {
  const client = new OpenAI({
    ...{ baseURL: provider.url, apiKey: provider.key() ?? 'none', organization: null, project: null },
    ...{ maxRetries: 0, timeout: provider.timeoutSeconds * 1000, logLevel: 'off' },
  });
  const boundary = boundaryOf(provider);
  const ask = <T>(question: Promise<T>): Promise<T> =>
    question.catch((error: unknown) => {
      throw toModelError(error, boundary);
    });

  return {
    /** The id of the file with this name, uploaded by whoever came first; two with the same name are the same. */
    async keepFile(name: string, lines: readonly string[]): Promise<string> {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const isThis = (file: FileObject): boolean =>
        file.filename === name && file.bytes === bytes.length && file.status !== 'error';
      const found = await ask(first(client.files.list({ purpose: 'fine-tune', limit: pageSize }), isThis));
      if (found) return found.id;
      const file = await toFile(bytes, name, { type: 'application/jsonl' });
      const made = await ask(client.files.create({ file, purpose: 'fine-tune' }, { timeout: uploadTimeoutMs }));
      return made.id;
    },

    create: (name: string, request: JobCreateParams): Promise<FineTuningJob> =>
      ask(client.fineTuning.jobs.create({ ...request, metadata: { ...request.metadata, [nameKey]: name } })),

    retrieve: (id: string): Promise<FineTuningJob> => ask(client.fineTuning.jobs.retrieve(id)),

    /** Jobs of this name, the newest first. Servers that know no filter are asked the same, and answer with all. */
    async named(name: string): Promise<FineTuningJob[]> {
      const pages = client.fineTuning.jobs.list({ metadata: { [nameKey]: name }, limit: pageSize });
      const jobs = await ask(all(pages, ({ metadata }) => metadata?.[nameKey] === name));
      return jobs.sort((a, b) => b.created_at - a.created_at);
    },

    /** Oldest first. */
    async events(id: string): Promise<FineTuningJobEvent[]> {
      const events = await ask(all(client.fineTuning.jobs.listEvents(id, { limit: pageSize }), () => true));
      return events.reverse();
    },

    cancel: (id: string): Promise<FineTuningJob> => ask(client.fineTuning.jobs.cancel(id)),
  };
}

async function first<T>(pages: AsyncIterable<T>, fits: (item: T) => boolean): Promise<T | undefined> {
  for await (const item of pages) if (fits(item)) return item;
  return undefined;
}

async function all<T>(pages: AsyncIterable<T>, fits: (item: T) => boolean): Promise<T[]> {
  const found: T[] = [];
  for await (const item of pages) if (fits(item)) found.push(item);
  return found;
}

function boundaryOf(provider: Provider): Boundary {
  const name = `provider "${provider.name}" (${provider.url}, fine-tuning)`;
  const key = provider.key();
  return {
    name,
    away: `${name} does not answer; check its url and the network, then \`coevolve resume\` a campaign that parked`,
    adviceOn: (status) => advice[status],
    keepCause: false, // it quotes what the server said, and servers quote keys
    redact: (text) => (key ? text.replaceAll(key, '<key>') : text),
  };
}

const resume = 'then `coevolve resume` the campaign';
const keyAdvice = `check its keyFile in the file of COEVOLVE_LLM_PROVIDERS and what the key may do, run \`coevolve up\` again, ${resume}`;
const advice: Record<number, string> = {
  401: keyAdvice,
  402: `fill the account, ${resume}`,
  403: keyAdvice,
  404: 'it may serve no fine-tuning, or not of this model: choose another provider or model in a new campaign',
};
