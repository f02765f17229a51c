import { z } from 'zod';
import { didYouMean, nearestName } from './did-you-mean';
import { valueAt } from './merge';

/** undefined for a path outside the schema. */
type Schema = z.core.$ZodType | undefined;

/** Describes an issue in one line per mistake: the field's path, the value found and the value expected. */
export function describeIssue(issue: z.core.$ZodIssue, schema: Schema, input: unknown): string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = keysOf(schemaAt(schema, issue.path));
    return issue.keys.map((key) => `${fieldName([...issue.path, key])}: ${unknownKey(key, known, schema)}`);
  }
  const found = valueAt(input, issue.path);
  const expected = expectation(issue, schemaAt(schema, issue.path));
  return [
    `${fieldName(issue.path)}: found ${shownAt(issue.path, found)}, expected ${expected}${otherValue(issue, found)}`,
  ];
}

function unknownKey(key: string, siblings: readonly string[], schema: Schema): string {
  if (key === '<<') return 'found a merge key of YAML, which is not read: write its keys out, or use `extends`';
  const blank = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]/u.exec(key)?.[0].codePointAt(0);
  if (blank !== undefined)
    return `found the blank U+${blank.toString(16).toUpperCase().padStart(4, '0')}, expected ordinary spaces`;
  return `found an unknown key, expected one of ${siblings.join(', ')}${otherKey(key, siblings, schema)}`;
}

/** Suggests a similar key of the same section, otherwise the same key of other sections. */
function otherKey(key: string, siblings: readonly string[], schema: Schema): string {
  if (nearestName(key, siblings) !== undefined) return didYouMean(key, siblings);
  const elsewhere = pathsTo(key, schema);
  if (elsewhere.length > 1) return `; other sections have it: ${elsewhere.join(', ')}`;
  return elsewhere.length === 1 ? `; did you mean ${elsewhere[0]}?` : '';
}

function otherValue(issue: z.core.$ZodIssue, found: unknown): string {
  return issue.code === 'invalid_value' && typeof found === 'string' ? didYouMean(found, issue.values.map(String)) : '';
}

/** Returns the paths of all keys with this name. */
function pathsTo(key: string, schema: Schema, prefix = ''): string[] {
  return keysOf(schema).flatMap((name) => [
    ...(name === key ? [prefix + name] : []),
    ...pathsTo(key, schemaAt(schema, [name]), `${prefix}${name}.`),
  ]);
}

/** A key with control characters is shown as JSON: a line break could forge another problem. */
const fieldName = (path: readonly PropertyKey[]): string =>
  path.map((key) => (/\p{Cc}/u.test(String(key)) ? JSON.stringify(key) : String(key))).join('.') || 'the whole file';

/** The whole file is never printed. */
const shownAt = (path: readonly PropertyKey[], value: unknown): string =>
  path.length === 0 && Array.isArray(value) ? 'a list' : shown(value);

/** Returns a value as text of at most 80 characters. JSON cannot represent NaN and infinity, which YAML can. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return typeof value === 'number' ? String(value) : JSON.stringify(value).slice(0, 80);
}

function expectation(issue: z.core.$ZodIssue, schema: Schema): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeNames[issue.expected] === undefined ? issue.expected : `${typeNames[issue.expected]}${rest(schema)}`;
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.join(', ')}`;
    case 'too_small':
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${issue.origin === 'string' ? ' character' : ''}`;
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_union':
      if (issue.message !== withoutMessage) return issue.message;
      return issue.errors.map((branch) => branchExpectation(branch[0]!)).join(' or ');
    default:
      return issue.message;
  }
}

/** Message of zod for a union without a message of its own. */
const withoutMessage = 'Invalid input';

/** A branch of a union that fails below the field itself names the path. */
const branchExpectation = (issue: z.core.$ZodIssue): string =>
  [...(issue.path.length > 0 ? [`${fieldName(issue.path)} with`] : []), expectation(issue, undefined)].join(' ');

const typeNames: Partial<Record<string, string>> = {
  object: 'keys with values',
  record: 'keys with values',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  string: 'a text',
  array: 'a list',
};

/** Describes further expected values: the keys of a mapping, or null. */
function rest(schema: Schema): string {
  const keys = keysOf(schema);
  if (keys.length > 0) return `: ${keys.join(', ')}`;
  return takesNull(schema) ? ' or null' : '';
}

function keysOf(schema: Schema): string[] {
  const inner = innermost(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

/** Returns the schema of a field; undefined for a field that the schema does not name. */
export const schemaAt = (schema: Schema, path: readonly PropertyKey[]): Schema =>
  path.reduce<Schema>((outer, key) => {
    const inner = innermost(outer);
    if (inner instanceof z.ZodArray) return inner.element;
    if (inner instanceof z.ZodRecord) return inner.valueType;
    if (!(inner instanceof z.ZodObject)) return undefined;
    return (inner.shape as Record<PropertyKey, Schema>)[key] ?? inner.def.catchall;
  }, schema);

/** Removes defaults, prefaults, optionals and transformations from a schema. */
export function innermost(schema: Schema): Schema {
  if (schema instanceof z.ZodPipe) return innermost(schema.in);
  return isWrapper(schema) ? innermost(schema.unwrap()) : schema;
}

export const takesNull = (schema: Schema): boolean =>
  schema instanceof z.ZodNullable || (isWrapper(schema) && takesNull(schema.unwrap()));

const isWrapper = (schema: Schema) =>
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodPrefault ||
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodNullable;
