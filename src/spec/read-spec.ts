import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { canonicalJson } from '../domain/base/canonical-json';
import { DomainError } from '../domain/base/errors';
import { recipes } from '../domain/campaign/recipe';
import { campaignSpecSchema, type CampaignSpec } from './campaign-spec';
import { describeIssue } from '../base/describe-issue';
import { secretOptions } from './secret-options';
import { unusedKeys } from './unused-keys';
import { parseYaml } from '../base/parse-yaml';
import { withRecipeDefaults } from './recipe-defaults';

/**
 * Reads a spec from YAML (or JSON) text and fills in every default.
 *
 * @throws DomainError `InvalidSpec`: one line per mistake, with the field, the value found and the value expected
 */
export function readSpec(text: string, source: string): CampaignSpec {
  const parsed = parseYaml(text);
  if ('problems' in parsed) throw invalid(source, parsed.problems);
  return resolveSpec(parsed.value, source);
}

/** @throws DomainError `InvalidSpec` */
export function resolveSpec(input: unknown, source: string): CampaignSpec {
  const parsed = campaignSpecSchema.safeParse(withRecipeDefaults(input), { reportInput: true });
  if (!parsed.success)
    throw invalid(
      source,
      parsed.error.issues.flatMap((issue) => describeIssue(issue, campaignSpecSchema, input)),
    );
  const problems = [...secretOptions(parsed.data.environment.options), ...unusedKeys(parsed.data)];
  if (problems.length > 0) throw invalid(source, problems);
  return withIterations(parsed.data);
}

/**
 * Returns the spec of a stored campaign. Keys that a later release has added get their defaults, so that the campaign
 * continues after an upgrade.
 */
export const readStoredSpec = (stored: unknown): CampaignSpec =>
  withIterations(campaignSpecSchema.parse(withRecipeDefaults(stored)));

const withIterations = (spec: z.output<typeof campaignSpecSchema>): CampaignSpec => ({
  ...spec,
  iterations: spec.iterations ?? recipes[spec.recipe].iterations,
});

/** SHA-256 of the canonical JSON: independent of the order of keys. */
export const specHash = (spec: CampaignSpec): string => createHash('sha256').update(canonicalJson(spec)).digest('hex');

function invalid(source: string, problems: string[]): DomainError {
  const list = problems.map((problem) => `  ${problem}`).join('\n');
  const next = `docs/spec.md explains every field; \`coevolve start ${source} --dry-run\` checks it without starting.`;
  return new DomainError('InvalidSpec', `${source} is not a campaign spec:\n${list}\n${next}`);
}
