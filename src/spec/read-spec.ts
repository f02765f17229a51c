import { createHash } from 'node:crypto';
import { parse, YAMLParseError } from 'yaml';
import type { z } from 'zod';
import { DomainError } from '../domain/errors';
import { recipes } from '../domain/recipe';
import { campaignSpecSchema, type CampaignSpec } from './campaign-spec';

/**
 * Reads a spec from YAML (or JSON) text and fills in every default.
 *
 * @throws DomainError `InvalidSpec`: one line per mistake, each with the field, what was found and what was expected
 */
export function readSpec(text: string, source: string): CampaignSpec {
  return resolveSpec(parseYaml(text, source), source);
}

/** @throws DomainError `InvalidSpec` */
export function resolveSpec(input: unknown, source: string): CampaignSpec {
  const parsed = campaignSpecSchema.safeParse(input, { reportInput: true });
  if (!parsed.success)
    throw invalid(
      source,
      parsed.error.issues.flatMap((issue) => describe(issue, input)),
    );
  const spec = parsed.data;
  return { ...spec, iterations: spec.iterations ?? recipes[spec.recipe].iterations };
}

/** Equal specs have equal hashes, whatever the order of their keys. */
export const specHash = (spec: CampaignSpec): string => createHash('sha256').update(canonicalJson(spec)).digest('hex');

function parseYaml(text: string, source: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) throw invalid(source, [`not YAML: ${error.message}`]);
    throw error;
  }
}

function invalid(source: string, problems: string[]): DomainError {
  const list = problems.map((problem) => `  ${problem}`).join('\n');
  const next = `See docs/spec.md; \`coevolve start ${source} --dry-run\` prints a resolved spec.`;
  return new DomainError('InvalidSpec', `${source} is not a campaign spec:\n${list}\n${next}`);
}

function describe(issue: z.core.$ZodIssue, input: unknown): string[] {
  const field = issue.path.map(String).join('.') || '(the whole file)';
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[...issue.path, key].map(String).join('.')}: unknown key; remove or correct it`);
  return [`${field}: found ${shown(valueAt(input, issue.path))}, expected ${expectation(issue)}`];
}

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  );

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80));

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return withArticle(issue.expected === 'int' ? 'integer' : issue.expected);
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.join(', ')}`;
    case 'too_small':
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const withArticle = (type: string): string => `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}
