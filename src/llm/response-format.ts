import { z } from 'zod';

/** The key `response_format` of a request in the OpenAI protocol. */
export type ResponseFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name: string; strict: true; schema: Record<string, unknown> } };

/** Returns the format of an answer that `schema` validates; null for free text. `prompt` is an id such as `reflection@2`. */
export function responseFormatOf(
  structured: 'schema' | 'lengths' | 'object' | 'none',
  prompt: string,
  schema: z.ZodType | undefined,
): ResponseFormat | null {
  if (structured === 'none' || !schema) return null;
  if (structured === 'object') return { type: 'json_object' };
  const name = prompt.replace(/@.*/, '');
  return {
    type: 'json_schema',
    json_schema: { name, strict: true, schema: structured === 'schema' ? strictSchema(schema) : boundedSchema(schema) },
  };
}

type Part = { [key: string]: unknown };

/**
 * Returns the JSON schema of an answer without the keywords that OpenAI's strict mode rejects. The answer is validated
 * with the whole schema, which also has conditions that no JSON schema can state.
 */
const strictSchema = (schema: z.ZodType): Part => changed(jsonSchema(schema), ({ minLength: _, ...part }) => part);

/**
 * Returns the whole JSON schema with a maximum length of every text and list, so that a server that obeys it ends the loop
 * of a small model. The bounds are several times as long as useful answers, and a longer answer of another server is valid.
 */
const boundedSchema = (schema: z.ZodType): Part =>
  changed(jsonSchema(schema), (part, name) => {
    if (part['type'] === 'string') return { ...part, maxLength: maxCharacters[name] ?? usualCharacters };
    return part['type'] === 'array' ? { ...part, maxItems: name === 'actions' ? maxActions : maxEntries } : part;
  });

/** Characters of texts by the name of their field: `actions` are never shortened in the prompts up to this length. */
const maxCharacters: Readonly<Record<string, number>> = { note: 200, query: 1_500, actions: 4_000 };
const usualCharacters = 600;
/** The environment server composes no longer task. */
const maxActions = 64;
const maxEntries = 16;

function jsonSchema(schema: z.ZodType): Part {
  const { $schema: _, ...whole } = z.toJSONSchema(schema);
  return whole;
}

/** Changes each part of a schema, with the name of its field. Texts of one type share a part until here. */
function changed(part: Part, change: (part: Part, name: string) => Part, name = ''): Part {
  const { properties, items } = part as { properties?: Record<string, Part>; items?: Part };
  const fields = Object.entries(properties ?? {}).map(([field, inner]) => [field, changed(inner, change, field)]);
  return {
    ...change(part, name),
    ...(properties && { properties: Object.fromEntries(fields) as unknown }),
    ...(items && { items: changed(items, change, name) }),
  };
}
