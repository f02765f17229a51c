import path from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config';
import { describeIssue } from '../../input/describe-issue';
import { problemOfUrl, readSecretFile, readSettingsFile } from '../../input/settings-file';
import type { EnvironmentEndpoint } from '../server/endpoint';

const count = z.number().int().min(1);

const rewardSchema = z
  .strictObject({
    /** Range of the server's rewards, which is scaled to [0, 1]; values outside are clipped. */
    min: z.number().default(0),
    max: z.number().default(1),
    /** `last`: reward of the last observation; `sum`: sum of all rewards of the episode. */
    of: z.enum(['last', 'sum']).default('last'),
  })
  .refine(({ min, max }) => min < max, { path: ['max'], error: 'a number above min' });

const serverSchema = z.strictObject({
  /** URL without `/ws`; a path is allowed. */
  url: z.string(),
  /** File that contains only the server's bearer token, relative to this file. */
  tokenFile: z.string().min(1).optional(),
  /**
   * Field of the action for the assistant's text; `json`: the text is the whole action. Default: the only field in the
   * server's schema, or its only text field.
   */
  action: z.string().min(1).optional(),
  /** Numbers of seeds as train and held-out tasks, if the server lists no tasks. */
  tasks: count.max(1_000_000).default(1_000),
  heldOutTasks: count.max(1_000_000).default(200),
  /** System message before the first observation. */
  instruction: z.string().min(1).optional(),
  /** Field of the observation that states the task; a composed task replaces its text. */
  taskField: z.string().min(1).optional(),
  /**
   * Fields of the server's state that are the state of the world, all that actions can change. They check composed tasks
   * whose actions change them.
   */
  state: z.array(z.string().min(1)).min(1).max(100).optional(),
  /** Maximum number of actions per episode. */
  maxTurns: count.max(1_000).default(30),
  /** Results that the same actions reproduce in a new session of the same task. */
  replay: z.enum(['observations', 'score', 'none']).default('none'),
  reward: rewardSchema.prefault({}),
  /** Concurrent episodes. */
  sessions: count.max(10_000).default(8),
  /** Timeout of one answer to a reset or a step. */
  answerSeconds: z.number().min(1).max(3_600).default(120),
});

/** Third-party server with OpenEnv's protocol. */
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
 * Reads the section `servers` of the environments file; returns none without a file.
 *
 * @throws ConfigError with the file, the key, the value found and the value expected
 */
export function readThirdPartyServers({ environmentsFile: file }: Pick<Config, 'environmentsFile'>): ThirdPartyServers {
  if (!file) return new Map();
  const { value: found, unusable } = readSettingsFile({ variable, file, content: 'environments' });
  const value = found ?? {};
  const read = fileSchema.safeParse(value, { reportInput: true });
  if (!read.success) throw unusable(read.error.issues.flatMap((issue) => problemsOf(issue, value)));
  const { hosted, servers } = read.data;
  const named = Object.entries(servers ?? {}).map(([name, server]) => toServer(file, name, server, hosted ?? {}));
  const problems = named.flatMap((server) => ('problems' in server ? server.problems : []));
  if (problems.length > 0) throw unusable(problems);
  return new Map(named.flatMap((server) => ('problems' in server ? [] : [[server.name, server]])));
}

/** Describes problems below a server's name with the server's schema. */
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
  const field = (key: string): string => `servers.${name}${key}`;
  const urlProblem = problemOfUrl(url, 'token');
  const token =
    tokenFile === undefined ? undefined : readSecretFile(path.resolve(path.dirname(file), tokenFile), 'token');
  const problems = [
    ...(namePattern.test(name) ? [] : [`${field('')}: found this name, expected lower-case letters, digits, - and _`]),
    ...(name in hosted ? [`${field('')}: found a name of the section hosted, expected a different name`] : []),
    ...(urlProblem
      ? [`${field('.url')}: found ${urlProblem}, expected http://... or https://... without a query`]
      : []),
    ...(token && 'problem' in token ? [`${field('.tokenFile')}: ${token.problem}`] : []),
  ];
  if (problems.length > 0) return { problems };
  const remedy = `start it, or correct ${field('.url')} in ${file}`;
  const credentials = token && 'text' in token ? { token: token.text } : {};
  return { name, ...server, endpoint: { url: url.replace(/\/+$/, ''), remedy, ...credentials } };
}
