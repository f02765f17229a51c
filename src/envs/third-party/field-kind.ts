/** JSON Schema of a field of a server's actions. */
export type FieldSchema = Readonly<Record<string, unknown>>;

const kinds = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const;

/** Kind of values that a field takes, apart from null; `any`: several kinds, or not stated. */
export type FieldKind = (typeof kinds)[number] | 'any';

/** Levels of references and unions that are followed, because a schema may refer to itself. */
const maxDepth = 10;

/**
 * Returns the kind of a field. Pydantic writes an optional text as a union with null, and an enumeration as a reference.
 *
 * @param definitions the schema's `$defs`, by name
 */
export function kindOf(field: unknown, definitions: FieldSchema, depth = maxDepth): FieldKind {
  const found = new Set(kindsOf(field, definitions, depth));
  found.delete('null');
  const [kind] = found;
  return found.size === 1 ? (kinds.find((name) => name === kind) ?? 'any') : 'any';
}

function kindsOf(field: unknown, definitions: FieldSchema, depth: number): readonly string[] {
  if (typeof field !== 'object' || field === null || depth === 0) return ['any'];
  const schema = field as FieldSchema;
  const union = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(union)) return union.flatMap((option) => kindsOf(option, definitions, depth - 1));
  const reference = schema['$ref'] ?? (schema['allOf'] as [{ $ref?: unknown }] | undefined)?.[0]?.$ref;
  if (typeof reference === 'string')
    return kindsOf(definitions[reference.replace('#/$defs/', '')], definitions, depth - 1);
  const values = schema['enum'] ?? ('const' in schema ? [schema['const']] : []);
  return [schema['type'] ?? (values as unknown[]).map(kindOfValue)].flat() as string[];
}

/** Returns the JSON type of a value; a number is `number`. */
export function kindOfValue(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
