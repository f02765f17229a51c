import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ConfigError, type Config } from '../config';
import { DomainError } from '../domain/base/errors';
import type { CampaignSpec } from '../spec/campaign-spec';
import { describeIssue } from '../base/describe-issue';
import { parseYaml } from '../base/parse-yaml';

const count = z.number().int().min(1);
const rate = z.number().positive();

const providerSchema = z.strictObject({
  /** Base address as the vendor documents it, with its /v1. */
  url: z.string(),
  /** File that holds the key and nothing else, relative to this file; absent: the server asks for none. */
  keyFile: z.string().min(1).optional(),
  /** Caps over all workers of all campaigns; null: none. */
  requestsPerSecond: rate.max(10_000).nullable().default(null),
  tokensPerMinute: rate.max(1e9).nullable().default(null),
  /** For one answer, whole. */
  timeoutSeconds: rate.max(3600).default(120),
  /** After so many failures in a row nothing is sent for a while. */
  breaker: z
    .strictObject({ failures: count.max(1000).default(5), coolDownSeconds: rate.max(3600).default(30) })
    .prefault({}),
  /** Calls at once, per worker process. */
  concurrency: count.max(1000).default(8),
  /** Some servers, OpenAI's newer models among them, refuse the older name. */
  tokenLimitField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
});

export type Provider = Omit<z.output<typeof providerSchema>, 'keyFile'> & {
  name: string;
  /** A function, so that printing a provider prints no key. */
  key(): string | undefined;
};

export type Providers = ReadonlyMap<string, Provider>;

const variable = 'COEVOLVE_LLM_PROVIDERS';

type NamesProviders = Pick<CampaignSpec, 'llm'> & Partial<Pick<CampaignSpec, 'policy'>>;

/**
 * Reads the providers of language models and their keys; none when no file is named. No message shows a key, nor a
 * value in whose place a key may have been written.
 *
 * @throws ConfigError naming file, field, what was found and what was expected
 */
export function readProviders({ providersFile: file }: Pick<Config, 'providersFile'>): Providers {
  if (!file) return new Map();
  const parsed = parseYaml(readText(file));
  if ('problems' in parsed) throw unusable(file, parsed.problems);
  const entries = z.record(z.string(), z.unknown()).safeParse(parsed.value ?? {});
  if (!entries.success) throw unusable(file, ['the whole file: expected names of providers with their settings']);
  const read = Object.entries(entries.data).map(([name, settings]) => readProvider(file, name, settings));
  const problems = read.flatMap((one) => ('problems' in one ? one.problems : []));
  if (problems.length > 0) throw unusable(file, problems);
  return new Map(read.flatMap((one) => ('problems' in one ? [] : [[one.name, one]])));
}

/**
 * Every provider that the spec names must be known.
 *
 * @throws DomainError `UnknownProvider`: a line per provider, with the fields that name it
 */
export function requireProviders({ llm }: NamesProviders, providers: Providers): void {
  const named = Object.entries(llm?.models ?? {}).map(
    ([purpose, model]) => [`llm.models.${purpose}`, model?.provider] as const,
  );
  const fields = new Map<string, string[]>();
  for (const [place, provider] of named) {
    if (!provider || providers.has(provider)) continue;
    fields.set(provider, [...(fields.get(provider) ?? []), `${place}.provider`]);
  }
  if (fields.size === 0) return;
  const known =
    providers.size > 0
      ? `one of ${[...providers.keys()].join(', ')}, which the file of ${variable} holds`
      : `a provider of the file that ${variable} names, and it names none; .env.example shows one`;
  const lines = [...fields].map(([name, [first, ...others]]) => {
    const also = others.length > 0 ? ` (so too ${others.join(', ')})` : '';
    return `${first}: found "${name}", expected ${known}${also}`;
  });
  throw new DomainError('UnknownProvider', lines.join('\n'));
}

/** The file of the providers and those of their keys, as far as it can be read: what a worker reads when it starts. */
export function providerFiles({ providersFile: file }: Pick<Config, 'providersFile'>): string[] {
  if (!file || !existsSync(file)) return [];
  const parsed = parseYaml(readText(file));
  const providers = 'value' in parsed ? Object.values((parsed.value ?? {}) as Record<string, unknown>) : [];
  const keys = providers.map((provider) => (provider as { keyFile?: unknown } | null)?.keyFile);
  const named = keys.filter((key): key is string => typeof key === 'string');
  return [file, ...named.map((key) => path.resolve(path.dirname(file), key))];
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(variable, `cannot read the providers: ${(error as Error).message}`);
  }
}

const unusable = (file: string, problems: readonly string[]): ConfigError =>
  new ConfigError(variable, `${file} is no file of providers:\n${problems.map((line) => `  ${line}`).join('\n')}`);

const namePattern = /^[a-z0-9][a-z0-9-]{0,30}$/;

function readProvider(file: string, name: string, settings: unknown): Provider | { problems: string[] } {
  if (!namePattern.test(name))
    return { problems: [`found the name "${name}", expected lower-case letters, digits and hyphens, at most 31`] };
  const parsed = providerSchema.safeParse(settings, { reportInput: true });
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) => describeIssue(issue, providerSchema, settings));
    return { problems: problems.map((line) => `${name}.${line}`.replace('.the whole file:', ':')) };
  }
  const { keyFile, ...provider } = parsed.data;
  const misplaced = problemOfUrl(provider.url);
  const key = keyFile === undefined ? undefined : readKey(path.resolve(path.dirname(file), keyFile));
  const problems = [
    ...(misplaced
      ? [`${name}.url: found ${misplaced}, expected http://... or https://... and no more than a path`]
      : []),
    ...(key && 'problem' in key ? [`${name}.keyFile: ${key.problem}`] : []),
  ];
  if (problems.length > 0) return { problems };
  const secret = key && 'key' in key ? key.key : undefined;
  return { name, ...provider, url: provider.url.replace(/\/+$/, ''), key: () => secret };
}

/** What is wrong with an address, without the address: it may hold a password. */
function problemOfUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return 'something that is no URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (username || password) return 'a URL with credentials in it (a key belongs into keyFile)';
  if (search || hash) return 'a URL with a query';
  return ['http:', 'https:'].includes(protocol) ? undefined : `a URL of ${protocol}`;
}

/** The path is not shown: whoever wrote the key in its place shall not find it in a log. */
function readKey(file: string): { key: string } | { problem: string } {
  const expected = 'expected the path, from the folder of this file, of a file that holds the key alone';
  try {
    const key = readFileSync(file, 'utf8').trim();
    if (/^[\x21-\x7e]+$/.test(key)) return { key };
    return { problem: `found a file ${key ? 'with more than a key in it' : 'with nothing in it'}, ${expected}` };
  } catch (error) {
    return { problem: `found nothing to read (${(error as { code?: string }).code}), ${expected}` };
  }
}
