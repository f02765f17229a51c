/** Words of a key, from `accessToken`, `access_token` or `ACCESS-TOKEN`. */
const wordsOf = (key: string): string[] =>
  key
    .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u);

const secretWords = new Set([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'secrets',
  'credential',
  'credentials',
  'bearer',
  'apikey',
  'authorization',
  'pwd',
]);
/** A key of one of these kinds; `key` alone may be a key of a table. */
const keyKinds = new Set(['api', 'access', 'private', 'secret', 'auth', 'signing', 'encryption']);

/** `token` is a secret, `max_tokens` and `token_limit` are numbers of tokens. */
function isSecretName(key: string): boolean {
  const words = wordsOf(key);
  const [last, before] = [words.at(-1), words.at(-2) ?? ''];
  return words.some((word) => secretWords.has(word)) || last === 'token' || (last === 'key' && keyKinds.has(before));
}

/** URL with a password. */
const credentials = /^[a-z][a-z\d+.-]*:\/\/[^/\s?#@]*:[^/\s?#@]+@/i;

const isSecret = (key: string, value: unknown): boolean =>
  (typeof value === 'string' && (isSecretName(key) || credentials.test(value))) ||
  (typeof value === 'number' && isSecretName(key));

/**
 * Returns one line per option, of an environment by default, that looks like a secret, without its value. Such options are rejected
 * and not masked: a masked one would still be in rows, histories, artifacts and requests.
 */
export function secretOptions(
  options: Record<string, unknown>,
  path = 'environment.options',
  remedy = remedyOfEnvironment,
): string[] {
  return Object.entries(options).flatMap(([key, value]) => {
    const field = `${path}.${key}`;
    if (isSecret(key, value)) return [`${field}: found a secret, expected none: ${remedy}`];
    return typeof value === 'object' && value !== null ? secretOptions({ ...value }, field, remedy) : [];
  });
}

const remedyOfEnvironment =
  'a spec is stored and printed; write it to a file that a setting of the environment names (docs/new-environment.md)';
