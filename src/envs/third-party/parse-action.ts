import { z } from 'zod';
import { DomainError } from '../../domain/errors';
import { callServer } from '../server/call-server';
import type { ThirdPartyServer } from './read-servers';
import { parseJson } from '../../input/parse-json';

/** Converts the assistant's text to an action, or returns the problem for the assistant. */
export type ParseAction = (text: string) => { action: Record<string, unknown> } | { problem: string };

const fieldSchema = z.looseObject({ type: z.string().optional().catch(undefined) });
const schemaSchema = z.object({
  action: z.object({ properties: z.record(z.string(), fieldSchema).default({}) }),
});

type Fields = Record<string, z.output<typeof fieldSchema>>;

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
  const { [reservedField]: _, ...fields } = schema.properties;
  const field = action ?? onlyField(fields);
  if (field !== undefined && field in fields) return inField(field, fields[field]!.type);
  const found = Object.entries(fields).map(([key, { type = 'any' }]) => `${key} (${type})`);
  const expected = `one of ${found.join(', ') || 'none'}, the fields of the server's actions, or json`;
  throw new DomainError(
    'AmbiguousAction',
    `servers.${name}.action: found ${action ? `"${action}"` : 'nothing'}, expected ${expected}`,
  );
}

function onlyField(fields: Fields): string | undefined {
  const names = Object.keys(fields);
  const texts = names.filter((name) => fields[name]!.type === 'string');
  if (names.length === 1) return names[0];
  return texts.length === 1 ? texts[0] : undefined;
}

/** Parses numbers and booleans for fields of these types. Any other text is sent unchanged, and the server rejects it. */
function inField(field: string, type: string | undefined): ParseAction {
  if (type !== 'integer' && type !== 'number' && type !== 'boolean') return (text) => ({ action: { [field]: text } });
  return (text) => {
    const value = parseJson(text.trim());
    return { action: { [field]: typeof value === 'number' || typeof value === 'boolean' ? value : text } };
  };
}

/** The object is the whole text, or stands in its only code fence or tag; of two nothing is guessed. */
const wholeAction: ParseAction = (text) => {
  const wrapped = [...text.matchAll(/```\w*[ \t]*\n(.*?)(?:```|$)|<tool_?call>(.*?)(?:<\/tool_?call>|$)/gis)];
  const [, fenced, tagged] = wrapped.length === 1 ? wrapped[0]! : [];
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(fenced ?? tagged ?? text));
  return parsed.success ? { action: parsed.data } : { problem: 'expected one JSON object' };
};
