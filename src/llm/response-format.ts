import { z } from 'zod';

/** The key `response_format` of a request in the OpenAI protocol. */
export type ResponseFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name: string; strict: true; schema: Record<string, unknown> } };

/** Returns the format of an answer that `schema` validates; null for free text. `prompt` is an id such as `reflection@2`. */
export function responseFormatOf(
  structured: 'schema' | 'object' | 'none',
  prompt: string,
  schema: z.ZodType | undefined,
): ResponseFormat | null {
  if (structured === 'none' || !schema) return null;
  if (structured === 'object') return { type: 'json_object' };
  const name = prompt.replace(/@.*/, '');
  return { type: 'json_schema', json_schema: { name, strict: true, schema: strictSchema(schema) } };
}

/**
 * Returns the JSON schema of an answer without the keywords that OpenAI's strict mode rejects. The answer is validated
 * with the whole schema, which also has conditions that no JSON schema can state.
 */
function strictSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...strict } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.minLength;
    },
  });
  return strict;
}
