import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ConfigError, type Config } from '../../config';
import { describeIssue } from '../../base/describe-issue';
import { parseYaml } from '../../base/parse-yaml';
import type { EnvironmentEndpoint } from '../server/endpoint';

const count = z.number().int().min(1);

const rewardSchema = z
  .strictObject({
    /** What the server's rewards are scaled from, to [0, 1]; what lies outside counts as the end that it is beyond. */
    min: z.number().default(0),
    max: z.number().default(1),
    /** `last`: the reward of the observation that is done; `sum`: of all rewards of the episode. */
    of: z.enum(['last', 'sum']).default('last'),
  })
  .refine(({ min, max }) => min < max, { path: ['max'], error: 'a number above min' });

const serverSchema = z.strictObject({
  /** Where `/ws` is; a path is allowed. */
  url: z.string(),
  /** File that holds the server's bearer token and nothing else, relative to this file. */
  tokenFile: z.string().min(1).optional(),
  /**
   * The field of an action that takes the assistant's text; `json`: the text is the whole action. Default: the only
   * field that the server's schema has, or its only one for text.
   */
  action: z.string().min(1).optional(),
  /** Seeds that make train and held-out tasks where the server lists no tasks of its own. */
  tasks: count.max(1_000_000).default(1_000),
  heldOutTasks: count.max(1_000_000).default(200),
  /** System message before the first observation. */
  instruction: z.string().min(1).optional(),
  /** The environment's own limit of actions per episode. */
  maxTurns: count.max(1_000).default(30),
  /** What the same actions give again in a fresh session of the same task. */
  replay: z.enum(['observations', 'score', 'none']).default('none'),
  reward: rewardSchema.prefault({}),
  /** Episodes that it plays at once. */
  sessions: count.max(10_000).default(8),
  /** For one answer, of a reset or a step. */
  answerSeconds: z.number().min(1).max(3_600).default(120),
});

/** A server of somebody else that speaks OpenEnv's wire. */
export type ThirdPartyServer = Omit<z.output<typeof serverSchema>, 'url' | 'tokenFile'> & {
  /** The environment's name in a spec. */
  name: string;
  endpoint: EnvironmentEndpoint;
};

export type ThirdPartyServers = ReadonlyMap<string, ThirdPartyServer>;

const fileSchema = z.strictObject({
  hosted: z.record(z.string(), z.unknown()).nullish(),
  servers: z.record(z.string(), serverSchema).nullish(),
});

const variable = 'COEVOLVE_ENVIRONMENTS_FILE';

/**
 * Reads the section `servers` of the file of environments; none when no file is named.
 *
 * @throws ConfigError naming file, key, what was found and what was expected
 */
export function readThirdPartyServers({ environmentsFile: file }: Pick<Config, 'environmentsFile'>): ThirdPartyServers {
  if (!file) return new Map();
  const parsed = parseYaml(readText(file));
  if ('problems' in parsed) throw unusable(file, parsed.problems);
  const value = parsed.value ?? {};
  const read = fileSchema.safeParse(value, { reportInput: true });
  if (!read.success)
    throw unusable(
      file,
      read.error.issues.flatMap((issue) => problemsOf(issue, value)),
    );
  const { hosted, servers } = read.data;
  const found = Object.entries(servers ?? {}).map(([name, server]) => toServer(file, name, server, hosted ?? {}));
  const problems = found.flatMap((one) => ('problems' in one ? one.problems : []));
  if (problems.length > 0) throw unusable(file, problems);
  return new Map(found.flatMap((one) => ('problems' in one ? [] : [[one.name, one]])));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(variable, `cannot read the environments: ${(error as Error).message}`);
  }
}

const unusable = (file: string, problems: readonly string[]): ConfigError =>
  new ConfigError(variable, `${file} is no file of environments:\n${problems.map((line) => `  ${line}`).join('\n')}`);

/** Below a server's name the schema is that of a server. */
function problemsOf(issue: z.core.$ZodIssue, value: unknown): string[] {
  const [section, name, ...rest] = issue.path;
  if (section !== 'servers' || name === undefined) return describeIssue(issue, fileSchema, value);
  const settings = (value as { servers: Record<string, unknown> }).servers[String(name)];
  const lines = describeIssue({ ...issue, path: rest }, serverSchema, settings);
  return lines.map((line) => `servers.${String(name)}.${line}`.replace('.the whole file:', ':'));
}

const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

function toServer(
  file: string,
  name: string,
  { url, tokenFile, ...server }: z.output<typeof serverSchema>,
  hosted: Record<string, unknown>,
): ThirdPartyServer | { problems: string[] } {
  const at = (key: string): string => `servers.${name}${key}`;
  const misplaced = problemOfUrl(url);
  const token = tokenFile === undefined ? undefined : readToken(path.resolve(path.dirname(file), tokenFile));
  const problems = [
    ...(namePattern.test(name) ? [] : [`${at('')}: found this name, expected lower-case letters, digits, - and _`]),
    ...(name in hosted ? [`${at('')}: found a name of the section hosted, expected another`] : []),
    ...(misplaced ? [`${at('.url')}: found ${misplaced}, expected http://... or https://... without a query`] : []),
    ...(token && 'problem' in token ? [`${at('.tokenFile')}: ${token.problem}`] : []),
  ];
  if (problems.length > 0) return { problems };
  const remedy = `start it, or correct ${at('.url')} in ${file}`;
  const credentials = token && 'token' in token ? { token: token.token } : {};
  return { name, ...server, endpoint: { url: url.replace(/\/+$/, ''), remedy, ...credentials } };
}

/** What is wrong with an address, without the address: it may hold a password. */
function problemOfUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return 'a text that is not a URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (username || password) return 'a URL with credentials in it (write the token to tokenFile)';
  if (search || hash) return 'a URL with a query';
  return ['http:', 'https:'].includes(protocol) ? undefined : `a URL of ${protocol}`;
}

function readToken(file: string): { token: string } | { problem: string } {
  const expected = 'expected the path, from the folder of this file, of a file that holds the token alone';
  try {
    const token = readFileSync(file, 'utf8').trim();
    if (/^[\x21-\x7e]+$/.test(token)) return { token };
    return { problem: `found a file ${token ? 'with more than a token' : 'without content'}, ${expected}` };
  } catch (error) {
    return { problem: `found no readable file (${(error as { code?: string }).code}), ${expected}` };
  }
}
