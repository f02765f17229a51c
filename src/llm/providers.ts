import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Config } from '../config';
import { DomainError } from '../domain/errors';
import { didYouMean } from '../input/did-you-mean';
import type { CampaignSpec } from '../specification/campaign-spec';
import { describeIssue } from '../input/describe-issue';
import { readHeaders } from './provider-headers';
import { parseYaml } from '../input/parse-yaml';
import { problemOfUrl, readSecretFile, readSettingsFile, readSettingsText } from '../input/settings-file';

const count = z.number().int().min(1);
const rate = z.number().positive();

const headerValue = 'a text, or { env: NAME } with the name of an environment variable';

const providerSchema = z.strictObject({
  /** Base URL with /v1, as the vendor documents it. */
  url: z.string(),
  /** File that contains only the key, relative to this file. Is absent if the server needs no key. */
  keyFile: z.string().min(1).optional(),
  /** Rate limits over all workers and campaigns; null means none. */
  requestsPerSecond: rate.max(10_000).nullable().default(null),
  tokensPerMinute: rate.max(1e9).nullable().default(null),
  /** Timeout of one complete response; null derives it from `maxTokens` and the measured speed of the answers. */
  timeoutSeconds: rate.max(3600).nullable().default(null),
  /** Circuit breaker: after `failures` outages without an answer between them, no requests are sent for `coolDownSeconds`. */
  breaker: z
    .strictObject({ failures: count.max(1000).default(5), coolDownSeconds: rate.max(3600).default(30) })
    .prefault({}),
  /** Concurrent calls per worker process. */
  concurrency: count.max(1000).default(8),
  /** Some servers reject the older name, for example OpenAI's for newer models. */
  tokenLimitField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** Further headers of every request, for access and routing: a text, or a variable of the process with the text. */
  headers: z
    .record(z.string(), z.union([z.string(), z.strictObject({ env: z.string().min(1) })], { error: headerValue }))
    .default({}),
});

export type Provider = Omit<z.output<typeof providerSchema>, 'keyFile' | 'headers'> & {
  name: string;
  /** A function, so that a printed provider contains no key. */
  key(): string | undefined;
  /** Further headers; a function, because they may hold keys. */
  headers(): Record<string, string>;
};

export type Providers = ReadonlyMap<string, Provider>;

const variable = 'COEVOLVE_LLM_PROVIDERS';
const content = 'providers';

type NamesProviders = Pick<CampaignSpec, 'llm'> & Partial<Pick<CampaignSpec, 'policy'>>;

/**
 * Reads the providers of language models and their keys; returns none without a file. Messages contain no keys and no
 * values of fields in which a key may have been written by mistake.
 *
 * @throws ConfigError with the file, the field, the problem and the expected value
 */
export function readProviders({ providersFile: file }: Pick<Config, 'providersFile'>): Providers {
  if (!file) return new Map();
  const { value, unusable } = readSettingsFile({ variable, file, content });
  const entries = z.record(z.string(), z.unknown()).safeParse(value ?? {});
  if (!entries.success) throw unusable(['the whole file: expected names of providers with their settings']);
  const read = Object.entries(entries.data).map(([name, settings]) => readProvider(file, name, settings));
  const problems = read.flatMap((provider) => ('problems' in provider ? provider.problems : []));
  if (problems.length > 0) throw unusable(problems);
  return new Map(read.flatMap((provider) => ('problems' in provider ? [] : [[provider.name, provider]])));
}

/**
 * Checks that every provider of the spec is in the file.
 *
 * @throws DomainError `UnknownProvider`, or `NoProviders` without a file, with one line per provider and the fields that name it
 */
export function requireProviders({ llm }: NamesProviders, providers: Providers): void {
  const named = Object.entries(llm?.models ?? {}).map(
    ([purpose, model]) => [`llm.models.${purpose}`, model?.provider] as const,
  );
  const fields = new Map<string, string[]>();
  for (const [field, provider] of named) {
    if (!provider || providers.has(provider)) continue;
    fields.set(provider, [...(fields.get(provider) ?? []), `${field}.provider`]);
  }
  if (fields.size === 0) return;
  const known =
    providers.size > 0
      ? `one of ${[...providers.keys()].join(', ')} from the file of ${variable}`
      : `a provider from the file of ${variable}, which contains none; see .env.example`;
  const lines = [...fields].map(([name, [first, ...others]]) => {
    const also = others.length > 0 ? ` (also ${others.join(', ')})` : '';
    return `${first}: found "${name}", expected ${known}${also}${didYouMean(name, [...providers.keys()])}`;
  });
  throw new DomainError(providers.size > 0 ? 'UnknownProvider' : 'NoProviders', lines.join('\n'));
}

/** Returns the paths of the providers' file and of the readable key files, which a worker reads when it starts. */
export function providerFiles({ providersFile: file }: Pick<Config, 'providersFile'>): string[] {
  if (!file || !existsSync(file)) return [];
  const parsed = parseYaml(readSettingsText({ variable, file, content }));
  const providers = 'value' in parsed ? Object.values((parsed.value ?? {}) as Record<string, unknown>) : [];
  const keys = providers.map((provider) => (provider as { keyFile?: unknown } | null)?.keyFile);
  const named = keys.filter((key): key is string => typeof key === 'string');
  return [file, ...named.map((key) => path.resolve(path.dirname(file), key))];
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,30}$/;

function readProvider(file: string, name: string, settings: unknown): Provider | { problems: string[] } {
  if (!namePattern.test(name))
    return { problems: [`found the name "${name}", expected lower-case letters, digits and hyphens, at most 31`] };
  const parsed = providerSchema.safeParse(settings, { reportInput: true });
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) => describeIssue(issue, providerSchema, settings));
    return { problems: problems.map((line) => `${name}.${line}`.replace('.the whole file:', ':')) };
  }
  const { keyFile, headers: headerSettings, ...provider } = parsed.data;
  const headers = readHeaders(headerSettings);
  const urlProblem = problemOfUrl(provider.url, 'key');
  const key = keyFile === undefined ? undefined : readSecretFile(path.resolve(path.dirname(file), keyFile), 'key');
  const problems = [
    ...(urlProblem
      ? [`${name}.url: found ${urlProblem}, expected http://... or https://... and no more than a path`]
      : []),
    ...(key && 'problem' in key ? [`${name}.keyFile: ${key.problem}`] : []),
    ...headers.problems.map((problem) => `${name}.headers.${problem}`),
  ];
  if (problems.length > 0) return { problems };
  const secret = key && 'text' in key ? key.text : undefined;
  return { name, ...provider, url: provider.url.replace(/\/+$/, ''), key: () => secret, headers: () => headers.values };
}
