import { namedVariable } from '../config';

type HeaderSettings = Readonly<Record<string, string | { env: string }>>;

/** Headers that the client sets itself. */
const ownHeaders = new Set(['content-type', 'content-length', 'host', 'connection', 'x-client-request-id']);

const namePattern = /^[a-z0-9][a-z0-9-]*$/i;

/** Visible characters of ASCII and spaces between them. */
const valuePattern = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Returns the headers with the values of environment variables filled in, and one line per problem. The lines contain no
 * values, because these may be keys.
 */
export function readHeaders(settings: HeaderSettings): { values: Record<string, string>; problems: string[] } {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, setting] of Object.entries(settings)) {
    const value = typeof setting === 'string' ? setting : namedVariable(setting.env);
    const problem = headerProblem(name, setting, value);
    if (problem === undefined) values[name] = value!;
    else problems.push(`${name}: ${problem}`);
  }
  return { values, problems };
}

function headerProblem(name: string, setting: string | { env: string }, value: string | undefined): string | undefined {
  if (!namePattern.test(name)) return 'found a name with other characters, expected letters, digits and hyphens';
  if (ownHeaders.has(name.toLowerCase())) return 'found a header that every request sets itself, expected another one';
  if (value === undefined)
    return `found no environment variable ${(setting as { env: string }).env}, expected one with the value; export it before \`coevolve up\``;
  return valuePattern.test(value) ? undefined : 'found a value with other characters, expected printable ASCII';
}
