import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { describeIssue } from '../input/describe-issue';
import { parseYaml } from '../input/parse-yaml';
import { readSettingsText, unusableSettings, type SettingsSource } from '../input/settings-file';
import { UsageError } from '../errors/errors';

/** AES-256 key with its id in encrypted payloads. Its printed form does not contain the key. */
export type PayloadKey = { readonly id: string; readonly key: KeyObject };

export type PayloadKeys = {
  /** Returns the key for new payloads. */
  current(): PayloadKey;
  /** Returns the key with that id. An unknown id causes a reload of the file, which may have changed. */
  find(id: string): PayloadKey | undefined;
};

export const keysVariable = 'COEVOLVE_PAYLOAD_KEYS';
export const keyBytes = 32;

const source = (file: string): SettingsSource => ({ variable: keysVariable, file, content: 'keys' });

/**
 * Reads the payload keys from the file of COEVOLVE_PAYLOAD_KEYS. Messages contain no keys.
 *
 * A running process keeps its keys until it finds an unknown id and reloads the file. So keys can be changed while
 * campaigns run, in any order of processes.
 *
 * @param file YAML or JSON, `{ current: <id>, keys: { <id>: { file: <path from its folder> } } }`; each key's file holds
 *   32 random bytes as base64, as written by `coevolve codec key`
 * @throws ConfigError with the file, the field, the value found and the value expected
 */
export function readPayloadKeys(file: string): PayloadKeys {
  let ring = readRing(file);
  let version = versionOf(file);
  return {
    current: () => ring.current,
    find(id) {
      if (!ring.keys.has(id) && versionOf(file) !== version) {
        version = versionOf(file);
        ring = readRing(file);
      }
      return ring.keys.get(id);
    },
  };
}

/** Returns the paths of the keyring file and of the readable key files, which a process reads when it starts. */
export function payloadKeyFiles(file: string | undefined): string[] {
  if (!file) return [];
  try {
    const { keys } = parse(file);
    return [file, ...Object.values(keys).map((key) => path.resolve(path.dirname(file), key.file))];
  } catch {
    return [file]; // the process that reads it at its start reports the error
  }
}

type Ring = { current: PayloadKey; keys: ReadonlyMap<string, PayloadKey> };

const keyringSchema = z.strictObject({
  current: z.string(),
  keys: z.record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'letters, digits, ".", "_" and "-", at most 64'),
    z.strictObject({ file: z.string().min(1) }),
  ),
});

function readRing(file: string): Ring {
  const { current, keys } = parse(file);
  const named = Object.entries(keys).map(([id, key]) => readKey(file, id, key.file));
  const ring = new Map(named.map((key) => [key.id, key]));
  const chosen = ring.get(current);
  if (!chosen)
    throw unusableSettings(source(file), [
      `current: found "${current}", expected one of ${[...ring.keys()].join(', ')}`,
    ]);
  return { current: chosen, keys: ring };
}

function parse(file: string): z.output<typeof keyringSchema> {
  const parsed = parseYaml(readSettingsText(source(file)));
  if ('problems' in parsed) throw unusableSettings(source(file), parsed.problems);
  const checked = keyringSchema.safeParse(parsed.value);
  if (checked.success) return checked.data;
  // Messages contain no value of an id or a path, because it may be a key.
  const problems = checked.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? describeIssue(issue, keyringSchema, parsed.value).join('; ')
      : `${issue.path.join('.') || 'the whole file'}: expected ${expected}`,
  );
  throw unusableSettings(source(file), problems);
}

const expected = '{ current: <id>, keys: { <id>: { file: <path of the key> } } }';

function readKey(file: string, id: string, keyFile: string): PayloadKey {
  const bytes = Buffer.from(readSettingsText(source(path.resolve(path.dirname(file), keyFile))).trim(), 'base64');
  if (bytes.length === keyBytes) return { id, key: createSecretKey(bytes) };
  const remedy = `expected ${keyBytes} bytes as base64; \`coevolve codec key\` creates such a file`;
  throw unusableSettings(source(file), [`keys.${id}.file: found ${bytes.length} bytes in it, ${remedy}`]);
}

/** Returns a text that changes when the file is written or replaced. */
function versionOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'none';
}

/**
 * Writes a new payload key to a file with mode 0600: 32 random bytes as base64.
 *
 * @throws UsageError when the file exists: a replaced key would make histories unreadable
 */
export function makePayloadKey(file: string): void {
  try {
    writeFileSync(file, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      `${file} exists: keys are never replaced; choose another file, and keep the old key for existing histories`,
      {
        cause: error,
      },
    );
  }
}
