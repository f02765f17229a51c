import { z } from 'zod';
import { DomainError } from '../../domain/errors';
import { callServer } from '../server/call-server';
import type { ThirdPartyServer } from './read-servers';
import { parseExact } from '../../input/exact-json';
import { parseJson } from '../../input/parse-json';
import { kindOf, kindOfValue, type FieldKind, type FieldSchema } from './field-kind';

/** Converts the assistant's text to an action, or returns the problem for the assistant. */
export type ParseAction = (text: string) => { action: Record<string, unknown> } | { problem: string };

const schemaSchema = z.object({
  action: z.object({
    properties: z.record(z.string(), z.record(z.string(), z.unknown()).catch({})).default({}),
    $defs: z.record(z.string(), z.unknown()).default({}),
  }),
});

type Field = { kind: FieldKind; isPlainText: boolean };

/** Field of every OpenEnv action that policies never set. */
const reservedField = 'metadata';

/**
 * Returns the parser of a server's actions, from its settings or else from its `/schema`. The schema is read in both
 * cases, so that an unknown field is reported before the first episode.
 *
 * @throws DomainError `AmbiguousAction`; EnvironmentError
 */
export async function actionParserOf({ name, endpoint, action }: ThirdPartyServer): Promise<ParseAction> {
  if (action === 'json') return wholeAction;
  const { action: schema } = await callServer(endpoint, '/schema', schemaSchema);
  const { [reservedField]: _, ...properties } = schema.properties;
  const fields = new Map(Object.entries(properties).map(([key, field]) => [key, readField(field, schema.$defs)]));
  const key = action ?? onlyField(fields);
  const chosen = key === undefined ? undefined : fields.get(key);
  if (key !== undefined && chosen) return inField(key, chosen.kind);
  const found = [...fields].map(([field, { kind }]) => `${field} (${kind})`);
  const expected = `one of ${found.join(', ') || 'none'}, the fields of the server's actions, or json`;
  throw new DomainError(
    'AmbiguousAction',
    `servers.${name}.action: found ${action ? `"${action}"` : 'nothing'}, expected ${expected}`,
  );
}

const readField = (field: FieldSchema, definitions: FieldSchema): Field => ({
  kind: kindOf(field, definitions),
  isPlainText: field['type'] === 'string',
});

/** The only field, or the only required text, or else the only optional text or enumeration. */
function onlyField(fields: ReadonlyMap<string, Field>): string | undefined {
  const all = [...fields];
  const texts = all.filter(([, { kind }]) => kind === 'string');
  const plain = texts.filter(([, { isPlainText }]) => isPlainText);
  const [found] = [all, plain, plain.length > 0 ? [] : texts].filter(({ length }) => length === 1);
  return found?.[0]![0];
}

/** The text itself, or its value for a field of another kind. The server rejects a text that is no exact number or boolean. */
function inField(field: string, kind: FieldKind): ParseAction {
  if (kind === 'string' || kind === 'any') return (text) => ({ action: { [field]: text } });
  if (kind === 'array' || kind === 'object')
    return (text) => {
      const value = parseJson(unwrapped(text));
      if (kindOfValue(value) !== kind) return { problem: `expected one JSON ${kind}` };
      return lossOf(unwrapped(text)) ?? { action: { [field]: value } };
    };
  return (text) => {
    const value = parseJson(text.trim());
    if (typeof value === 'number' && lossOf(text.trim())) return { action: { [field]: text } };
    return { action: { [field]: typeof value === 'number' || typeof value === 'boolean' ? value : text } };
  };
}

const wholeAction: ParseAction = (text) => {
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(unwrapped(text)));
  if (!parsed.success) return { problem: 'expected one JSON object' };
  return lossOf(unwrapped(text)) ?? { action: parsed.data };
};

/** The problem of an action that would reach the server changed: a rounded number, or one of two values of a key. */
function lossOf(json: string): { problem: string } | undefined {
  const exact = parseExact(json);
  return 'problem' in exact ? { problem: exact.problem } : undefined;
}

/** JSON is the whole text, or stands in its only code fence or tag; of two nothing is guessed. */
function unwrapped(text: string): string {
  const wrapped = [...text.matchAll(/```\w*[ \t]*\n(.*?)(?:```|$)|<tool_?call>(.*?)(?:<\/tool_?call>|$)/gis)];
  const [, fenced, tagged] = wrapped.length === 1 ? wrapped[0]! : [];
  return fenced ?? tagged ?? text;
}
