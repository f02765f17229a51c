import { readFileSync } from 'node:fs';
import { ConfigError } from '../errors/errors';
import { decodeText } from './decode-text';
import { parseYaml, withPosition } from './parse-yaml';

/** A file of settings: the variable that names it, and what it contains, such as `providers`. */
export type SettingsSource = { variable: string; file: string; content: string };

/**
 * Reads a YAML file of settings. `unusable` makes the error of the problems of its value, each of which starts with the path
 * of a field.
 *
 * @throws ConfigError when the file cannot be read or is not YAML
 */
export function readSettingsFile(source: SettingsSource): {
  value: unknown;
  unusable(problems: readonly string[]): ConfigError;
} {
  const parsed = parseYaml(readSettingsText(source));
  if ('problems' in parsed) throw unusableSettings(source, parsed.problems);
  const positioned = (problem: string): string => withPosition(problem, parsed);
  return { value: parsed.value, unusable: (problems) => unusableSettings(source, problems.map(positioned)) };
}

export function readSettingsText({ variable, file, content }: SettingsSource): string {
  try {
    return decodeText(readFileSync(file), file);
  } catch (error) {
    throw new ConfigError(variable, `cannot read the ${content}: ${(error as Error).message}`);
  }
}

export const unusableSettings = (
  { variable, file, content }: SettingsSource,
  problems: readonly string[],
): ConfigError =>
  new ConfigError(
    variable,
    `${file} is not a valid ${content} file:\n${problems.map((line) => `  ${line}`).join('\n')}`,
  );

type Secret = 'key' | 'token';

/** Describes the problem of a URL without the URL itself, which may contain a password. */
export function problemOfUrl(text: string, secret: Secret): string | undefined {
  if (!URL.canParse(text)) return 'a text that is not a URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (username || password) return `a URL with credentials (write the ${secret} to ${secret}File)`;
  if (search || hash) return 'a URL with a query';
  return ['http:', 'https:'].includes(protocol) ? undefined : `a URL of ${protocol}`;
}

/** Reads a file of only a secret. Messages do not contain its path, because it may be a secret written there by mistake. */
export function readSecretFile(file: string, secret: Secret): { text: string } | { problem: string } {
  const expected = `expected the path of a file that contains only the ${secret}, relative to this file`;
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (/^[\x21-\x7e]+$/.test(text)) return { text };
    return { problem: `found a file ${text ? `with more than a ${secret}` : 'without content'}, ${expected}` };
  } catch (error) {
    return { problem: `found no readable file (${(error as { code?: string }).code}), ${expected}` };
  }
}
