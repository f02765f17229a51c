import { z } from 'zod';
import { campaignSpecSchema } from './campaign-spec';
import { inheritingPurposes } from './model-settings';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Returns the JSON Schema of a spec as its author writes it, for editors. Rules between keys, and the defaults that
 * depend on the recipe, are not part of it; `coevolve start --dry-run` checks them. The description of a key, which an
 * editor shows, ends with its range and its default.
 */
export function specJsonSchema(): JsonSchema {
  const { required, properties, ...others } = editorSchema(campaignSpecSchema);
  return {
    title: 'campaign spec of coevolve; docs/spec.md explains every field',
    ...others,
    properties: { extends: extendsKey, ...properties },
    if: { required: ['extends'] }, // the files below may have the required keys
    else: { required: required ?? [] },
  };
}

/** Returns the JSON Schema of a file as its author writes it, where descriptions end with ranges and, if asked, defaults. */
export function editorSchema(of: z.ZodType, { defaults = true } = {}): JsonSchema {
  const schema = z.toJSONSchema(of, {
    io: 'input',
    override({ jsonSchema, path }) {
      const [section, , purpose] = path.slice(-3);
      // the explorer's model has the keys that these leave out
      if (section === 'models' && inheritingPurposes.some((one) => one === purpose)) delete jsonSchema.required;
      // zod's range of every integer
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.propertyNames; // a YAML file with other than text as keys is rejected before
    },
  });
  addRanges(schema, defaults ? [rangeOf, defaultOf] : [rangeOf]);
  return schema;
}

const extendsKey: JsonSchema = {
  description:
    'File, or list of files, below this one: its values hold where this file has none. Paths are relative to this file.',
  anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
};

type Fact = (schema: JsonSchema) => string;

function addRanges({ properties = {}, anyOf = [], additionalProperties }: JsonSchema, of: readonly Fact[]): void {
  for (const part of anyOf) addRanges(part, of);
  if (typeof additionalProperties === 'object') addRanges(additionalProperties, of); // sections by a name, such as arms
  for (const property of Object.values(properties) as JsonSchema[]) {
    addRanges(property, of);
    const facts = of
      .map((fact) => fact(property))
      .filter(Boolean)
      .join('; ');
    if (property.description && facts) property.description += ` ${facts.charAt(0).toUpperCase()}${facts.slice(1)}.`;
  }
}

/** `integer, 1 to 64, or null`; empty for a section. */
function rangeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(rangeOf).filter(Boolean).join(', or ');
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'null') return 'null';
  if (schema.type !== 'integer' && schema.type !== 'number') return '';
  const { minimum, exclusiveMinimum, maximum } = schema;
  const low = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`;
  return maximum === undefined ? `${schema.type} from ${low}` : `${schema.type}, ${low} to ${maximum}`;
}

const defaultOf = ({ default: value, type }: JsonSchema): string =>
  value === undefined || type === 'object'
    ? ''
    : `default ${typeof value === 'string' ? value : JSON.stringify(value)}`;
