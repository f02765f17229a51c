import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../config';
import { describeIssue } from '../base/describe-issue';
import { parseYaml } from '../base/parse-yaml';

/** A key of AES-256, with the name that sealed payloads carry. Printing it prints no key. */
export type PayloadKey = { readonly id: string; readonly key: KeyObject };

export type PayloadKeys = {
  /** The key that new payloads are sealed with. */
  current(): PayloadKey;
  /** The key of that name; a name that is not known makes the file be read again, since keys are changed under us. */
  find(id: string): PayloadKey | undefined;
};

export const keysVariable = 'COEVOLVE_PAYLOAD_KEYS';
export const keyBytes = 32;

/**
 * Reads the keys of payloads from the file that COEVOLVE_PAYLOAD_KEYS names. No message shows a key.
 *
 * A process that runs on goes on with the keys that it read until it meets a name that it does not know: the file is
 * read then. So keys can be changed while campaigns run, in any order of processes.
 *
 * @param file YAML or JSON, `{ current: <id>, keys: { <id>: { file: <path from its folder> } } }`; each key's file holds
 *   32 random bytes as base64, as `coevolve codec key` makes it
 * @throws ConfigError naming file, field, what was found and what was expected
 */
export function readPayloadKeys(file: string): PayloadKeys {
  let ring = readRing(file);
  let seen = changeOf(file);
  return {
    current: () => ring.current,
    find(id) {
      if (!ring.keys.has(id) && changeOf(file) !== seen) {
        seen = changeOf(file);
        ring = readRing(file);
      }
      return ring.keys.get(id);
    },
  };
}

/** The file of the keys and those that it names, as far as they can be read: what a process reads when it starts. */
export function payloadKeyFiles(file: string | undefined): string[] {
  if (!file) return [];
  try {
    const { keys } = parse(file);
    return [file, ...Object.values(keys).map((key) => path.resolve(path.dirname(file), key.file))];
  } catch {
    return [file]; // whoever starts with it says what is wrong
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
  if (!chosen) throw unusable(file, [`current: found "${current}", expected one of ${[...ring.keys()].join(', ')}`]);
  return { current: chosen, keys: ring };
}

function parse(file: string): z.output<typeof keyringSchema> {
  const parsed = parseYaml(readText(file));
  if ('problems' in parsed) throw unusable(file, parsed.problems);
  const checked = keyringSchema.safeParse(parsed.value);
  if (checked.success) return checked.data;
  // Of what stands in the place of a name or a path nothing is shown: it may be the key.
  const places = checked.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? describeIssue(issue, keyringSchema, parsed.value).join('; ')
      : `${issue.path.join('.') || 'the whole file'}: expected ${expected}`,
  );
  throw unusable(file, places);
}

const expected = '{ current: <id>, keys: { <id>: { file: <path of the key> } } }';

function readKey(file: string, id: string, keyFile: string): PayloadKey {
  const bytes = Buffer.from(readText(path.resolve(path.dirname(file), keyFile)).trim(), 'base64');
  if (bytes.length === keyBytes) return { id, key: createSecretKey(bytes) };
  const wanted = `expected ${keyBytes} bytes as base64; \`coevolve codec key\` makes such a file`;
  throw unusable(file, [`keys.${id}.file: found ${bytes.length} bytes in it, ${wanted}`]);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(keysVariable, `cannot read the keys: ${(error as Error).message}`);
  }
}

/** Differs when the file was written or another put in its place. */
function changeOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'none';
}

const unusable = (file: string, problems: readonly string[]): ConfigError =>
  new ConfigError(keysVariable, `${file} is no file of keys:\n${problems.map((line) => `  ${line}`).join('\n')}`);
