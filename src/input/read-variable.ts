import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { ConfigError } from '../errors/errors';

export type Env = Readonly<Record<string, string | undefined>>;

/** Reads an address to listen on; host names are not resolved. */
export function readAddress(env: Env, variable: string): string | undefined {
  const text = env[variable];
  if (!text) return undefined;
  const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d{1,5})$/.exec(text) ?? [];
  if (isIP(host) && Number(port) >= 1 && Number(port) <= 65_535) return text;
  throw new ConfigError(variable, `expected an IP address and a port, such as 127.0.0.1:9464, got "${text}"`);
}

export function readCount(env: Env, variable: string): number | undefined {
  const text = env[variable];
  if (!text) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new ConfigError(variable, `expected a whole number from 1, got "${text}"`);
  return Number(text);
}

/** Reads `auto`, `none`, indices such as `2,3`, or declared devices such as `8x80GiB`. */
export function readDevices(env: Env, variable: string): string {
  const text = env[variable] || 'auto';
  if (!/^(auto|none|\d{1,3}(,\d{1,3})*|[1-9]\d{0,3}x[1-9]\d{0,3}GiB)$/.test(text))
    throw new ConfigError(
      variable,
      `expected auto, none, indices such as 2,3, or devices such as 8x80GiB, got "${text}"`,
    );
  const names = text.split(',').map(Number); // CUDA hides a device that is named twice
  if (new Set(names).size < names.length) throw new ConfigError(variable, `expected each device once, got "${text}"`);
  return text;
}

export function readShare(env: Env, variable: string): number | undefined {
  const text = env[variable];
  if (!text) return undefined;
  const share = Number(text);
  if (share >= 0 && share <= 1) return share;
  throw new ConfigError(variable, `expected a number from 0 to 1, got "${text}"`);
}

export function readOneOf<const Name extends string>(
  env: Env,
  variable: string,
  names: readonly Name[],
  fallback: Name,
): Name {
  const text = env[variable] || fallback;
  const found = names.find((name) => name === text);
  if (found) return found;
  throw new ConfigError(variable, `expected ${names.join(' or ')}, got "${text}"`);
}

export function readToken(variable: string, file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(variable, `cannot read it: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!token) throw new ConfigError(variable, `${file} is empty`);
  return token;
}

export function readUrl(env: Env, variable: string, protocols: string[]): string | undefined {
  const text = env[variable];
  if (!text) return undefined;
  const shape = `expected ${protocols.map((protocol) => `${protocol}//...`).join(' or ')}`;
  if (!URL.canParse(text)) throw new ConfigError(variable, `${shape}, got a text that is not a URL`); // may hold a password
  if (!protocols.includes(new URL(text).protocol)) throw new ConfigError(variable, shape);
  return text.replace(/\/+$/, '');
}

/** Returns the address of a database with this password. */
export function withPassword(databaseUrl: string, password: string): string {
  const url = new URL(databaseUrl);
  url.password = encodeURIComponent(password);
  return url.href;
}
