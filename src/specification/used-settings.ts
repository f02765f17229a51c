import { isDeepStrictEqual } from 'node:util';
import { isSection } from '../input/merge';
import type { z } from 'zod';
import { campaignSpecSchema, type CampaignSpec } from './campaign-spec';
import { rulesOf, schemasOf } from './key-rules';
import { resolveSpec } from './read-spec';

/**
 * Returns the settings of a spec that its campaign reads, without nulls that are defaults. They resolve to the same spec
 * unless the spec sets keys that the campaign does not read.
 */
export function usedSettings(spec: CampaignSpec): Record<string, unknown> {
  const used = readKeys(campaignSpecSchema, spec, spec);
  return withoutNulls(used, defaultsOf(spec)) as Record<string, unknown>;
}

/** Removes the keys of a section that nothing reads. */
function readKeys(schema: z.core.$ZodType, value: unknown, spec: CampaignSpec): unknown {
  const schemas = schemasOf(schema);
  if (!isSection(value) || Object.keys(schemas).length === 0) return value;
  const read = Object.entries(value).filter(([key]) => !(schemas[key] && rulesOf(schemas[key]).unreadIf?.(spec)));
  return Object.fromEntries(read.map(([key, item]) => [key, schemas[key] ? readKeys(schemas[key], item, spec) : item]));
}

/** Returns whether a key of a spec has an effect in its campaign. */
export function hasEffect(spec: CampaignSpec, path: readonly string[]): boolean {
  let schema: z.core.$ZodType | undefined = campaignSpecSchema;
  for (const key of path) {
    schema = schemasOf(schema)[key];
    if (!schema) return true; // the schema refuses it
    const { unreadIf, idleIf } = rulesOf(schema);
    if (unreadIf?.(spec) || idleIf?.(spec)) return false;
  }
  return true;
}

/** Returns the path of each setting that a spec changes and nothing of its campaign reads, such as `pairs.failureAgent.enabled`. */
export const unreadSettings = (spec: CampaignSpec): string[] =>
  unreadPaths(spec, defaultsOf(spec), usedSettings(spec)).map((keys) => keys.join('.'));

function unreadPaths(value: unknown, defaults: unknown, used: unknown): string[][] {
  if (!isSection(value)) return used === undefined && !isDeepStrictEqual(value, defaults) ? [[]] : [];
  const within = (section: unknown, key: string): unknown => (isSection(section) ? section[key] : undefined);
  return Object.entries(value).flatMap(([key, item]) =>
    unreadPaths(item, within(defaults, key), within(used, key)).map((keys) => [key, ...keys]),
  );
}

function defaultsOf({ name, seed, environment, recipe, policy }: CampaignSpec): CampaignSpec {
  return resolveSpec({ name, seed, environment: { name: environment.name }, recipe, policy }, 'the defaults');
}

/** Removes nulls that are defaults, and sections that are empty. */
function withoutNulls(value: unknown, defaults: unknown): unknown {
  if (!isSection(value)) return value;
  const kept = Object.entries(value).flatMap(([key, item]) => {
    const usual = isSection(defaults) ? defaults[key] : undefined;
    if (item === undefined || (item === null && usual === null)) return [];
    const inner = withoutNulls(item, usual);
    return isSection(inner) && Object.keys(inner).length === 0 ? [] : [[key, inner] as const];
  });
  return Object.fromEntries(kept);
}
