import { sha256 } from '../files/sha256';
import type { z } from 'zod';
import { canonicalJson } from '../domain/canonical-json';
import { DomainError } from '../domain/errors';
import { recipes } from '../domain/campaign/recipe';
import { campaignSpecSchema, type CampaignSpec } from './campaign-spec';
import { describeIssue, shown } from '../input/describe-issue';
import { differencesOf } from '../input/differences';
import { secretOptions } from './secret-options';
import { wrongSets } from './evaluation-settings';
import { brokenRules } from './key-rules';
import { uselessReuse } from './nondeterminism';
import { longSchedules, unclearLengths, uselessLengths } from './training-settings';
import { fieldOf, parseYaml, strangeValues } from '../input/parse-yaml';
import { mergeLayers, withChange, withLayer, type SpecChange, type SpecLayer } from './spec-layers';
import { absurdRates, withModelDefaults } from './learning-rates';
import { withExplorersModel } from './model-settings';
import { uselessSettings } from './weak-settings';
import { withoutIdleEpochs, withRecipeDefaults, withSolver, withStoredLimits } from './recipe-defaults';

/**
 * Reads a spec from YAML (or JSON) text and fills in every default.
 *
 * @param changes values that replace values of the text
 * @throws DomainError `InvalidSpec`: one line per mistake, with its position, the field, the value found and the value
 * expected
 */
export function readSpec(text: string, source: string, changes: readonly SpecChange[] = []): CampaignSpec {
  return readLayers([parseLayer(text, source)], source, changes);
}

/** @throws DomainError `InvalidSpec` */
export function parseLayer(text: string, file: string): SpecLayer {
  const parsed = parseYaml(text);
  if ('problems' in parsed) throw invalidSpec(file, parsed.problems);
  return { ...parsed, file };
}

/**
 * Merges the files of a spec, from the lowest to the highest, and fills in every default.
 *
 * @param source file that an author starts
 * @throws DomainError `InvalidSpec`, see `readSpec`
 */
export const readLayers = (
  layers: readonly SpecLayer[],
  source: string,
  changes: readonly SpecChange[],
): CampaignSpec => readGivenLayers(layers, source, changes).spec;

/** A spec with every default, beside the values of its author alone. */
export type GivenSpec = { spec: CampaignSpec; given: unknown };

/** @throws DomainError `InvalidSpec`, see `readSpec` */
export function readGivenLayers(
  layers: readonly SpecLayer[],
  source: string,
  changes: readonly SpecChange[],
): GivenSpec {
  const value = mergeLayers(layers, changes);
  const strange = strangeValues(value); // of the changes, or of many levels together
  const resolved = strange.length > 0 ? { problems: strange } : resolve(value);
  if (!('problems' in resolved)) return { spec: resolved, given: value };
  const first = resolved.problems.slice(0, maxProblems);
  const problems = first.map((problem) => {
    const field = fieldOf(problem);
    if (changes.some(({ path }) => path.every((key, depth) => field[depth] === key))) return `--set: ${problem}`;
    return withLayer(problem, layers, source);
  });
  const others = resolved.problems.length - first.length;
  throw invalidSpec(source, others > 0 ? [...problems, `and ${others} more problems`] : problems);
}

const maxProblems = 50;

/** @throws DomainError `InvalidSpec` */
export const readGiven = (given: unknown, changes: readonly SpecChange[]): CampaignSpec =>
  resolveSpec(changes.reduce<unknown>(withChange, given), 'the spec with the defaults of its environment');

/** @throws DomainError `InvalidSpec` */
export function resolveSpec(input: unknown, source: string): CampaignSpec {
  const resolved = resolve(input);
  if ('problems' in resolved) throw invalid(source, resolved.problems, 'docs/spec.md explains every field.');
  return resolved;
}

export type Problems = { problems: string[] };

const withDefaults = (input: unknown): unknown =>
  withModelDefaults(withRecipeDefaults(withoutIdleEpochs(withSolver(withExplorersModel(input)))));

/** Fills in every default; returns one line per mistake, without positions. */
export function resolve(input: unknown): CampaignSpec | Problems {
  const parsed = campaignSpecSchema.safeParse(withDefaults(input), { reportInput: true });
  const idle = parsed.success
    ? [...secretsIn(parsed.data), ...checkRules(withIterations(parsed.data))]
    : unusedIntactKeys(input, parsed.error.issues);
  const wrong = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => describeIssue(issue, campaignSpecSchema, input));
  return parsed.success && idle.length === 0 ? withIterations(parsed.data) : { problems: [...wrong, ...idle] };
}

const secretsIn = ({ environment, evaluation, llm }: z.output<typeof campaignSpecSchema>): string[] => [
  ...secretOptions(environment.options),
  ...Object.entries(evaluation.sets).flatMap(([name, { options }]) =>
    secretOptions(options, `evaluation.sets.${name}.options`),
  ),
  ...secretBodies(llm),
];

/** A model that another purpose inherits is named once. */
function secretBodies(llm: z.output<typeof campaignSpecSchema>['llm']): string[] {
  const bodies = new Map<object, string>();
  for (const [purpose, model] of Object.entries(llm?.models ?? {}))
    if (model && 'body' in model && !bodies.has(model.body)) bodies.set(model.body, `llm.models.${purpose}.body`);
  return [...bodies].flatMap(([body, path]) => secretOptions({ ...body }, path, remedyOfModels));
}

const remedyOfModels =
  'a spec is stored and printed; write it to headers of the provider in the file of COEVOLVE_LLM_PROVIDERS';

/** Finds the unused keys of the sections without mistakes, so that one error lists all problems. */
function unusedIntactKeys(input: unknown, issues: readonly z.core.$ZodIssue[]): string[] {
  if (typeof input !== 'object' || input === null) return [];
  const broken = new Set(
    issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [String(issue.path[0])],
    ),
  );
  if (broken.has('recipe')) return [];
  const intact = Object.fromEntries(Object.entries(input).filter(([key]) => !broken.has(key)));
  const required = { name: 'unknown', seed: 0, environment: { name: 'unknown' } };
  const parsed = campaignSpecSchema.safeParse(withDefaults({ ...required, ...intact }));
  return parsed.success ? checkRules(withIterations(parsed.data), broken) : [];
}

/** Rules of several keys together. */
const sharedRules: readonly ((spec: CampaignSpec) => string[])[] = [
  ({ policy, training }) => absurdRates(policy, training, policy.parameters),
  ({ compute }) => uselessReuse({ compute }),
  ({ training, iterations }) => longSchedules(training, iterations),
  ({ training }) => unclearLengths(training),
  ({ policy, training }) => uselessLengths(policy, training),
  ({ environment, evaluation, iterations }) => wrongSets({ environment, evaluation, iterations }),
  ({ recipe, rollouts, signals, synthesis, evaluation }) =>
    uselessSettings({ recipe, rollouts, signals, synthesis, evaluation }),
];

/**
 * Returns one line per key that has no effect or whose value does not fit other keys.
 *
 * @param broken sections with other mistakes, whose values are unknown: rules that read them are skipped
 */
function checkRules(spec: CampaignSpec, broken: ReadonlySet<string> = new Set()): string[] {
  const ask = <Answer>(rule: (spec: CampaignSpec) => Answer): Answer | undefined => {
    const read = new Set<string>();
    const answer = rule(new Proxy(spec, { get: (target, key) => (read.add(String(key)), Reflect.get(target, key)) }));
    return [...read].some((section) => broken.has(section)) ? undefined : answer;
  };
  const intact = Object.fromEntries(Object.entries(spec).filter(([section]) => !broken.has(section)));
  return [...brokenRules(campaignSpecSchema, intact, ask), ...sharedRules.flatMap((rule) => ask(rule) ?? [])];
}

/**
 * Returns the spec of a stored campaign. Keys that a later release has added get their defaults, so that the campaign
 * continues after an upgrade.
 */
export const readStoredSpec = (stored: unknown): CampaignSpec =>
  withIterations(campaignSpecSchema.parse(withDefaults(withStoredLimits(stored))));

/** The same; undefined if it is not the spec of a campaign. */
export function findStoredSpec(stored: unknown): CampaignSpec | undefined {
  const parsed = campaignSpecSchema.safeParse(withDefaults(withStoredLimits(stored)));
  return parsed.success ? withIterations(parsed.data) : undefined;
}

const withIterations = (spec: z.output<typeof campaignSpecSchema>): CampaignSpec => ({
  ...spec,
  iterations: spec.iterations ?? recipes[spec.recipe].iterations,
});

/** SHA-256 of the canonical JSON: independent of the order of keys. */
export const specHash = (spec: CampaignSpec): string => sha256(canonicalJson(spec));

/** Returns the hash under which a spec is stored. An equal stored spec keeps its hash when an upgrade adds keys. */
export function hashAsStored(spec: CampaignSpec, stored: { spec: unknown; specHash: string } | undefined): string {
  const hash = specHash(spec);
  const older = stored && findStoredSpec(stored.spec);
  return older && specHash(older) === hash ? stored.specHash : hash;
}

/**
 * Returns the row of a campaign with this spec.
 *
 * @param stored the row of that name
 */
export const campaignOf = (spec: CampaignSpec, stored?: { spec: unknown; specHash: string }) => ({
  name: spec.name,
  recipe: spec.recipe,
  environment: spec.environment.name,
  spec,
  specHash: hashAsStored(spec, stored),
  seed: spec.seed,
});

/** Returns the error of a name that another spec has. It shows the first keys that differ, with both values. */
export function nameTaken(
  stored: { name: string; spec: unknown },
  spec: unknown,
  remedy = 'choose another name',
): DomainError {
  const older = findStoredSpec(stored.spec);
  const differences = older ? differencesOf(older, spec) : [];
  const values = differences.map(({ key, first, second }) => `${key} is ${shown(first)} there, ${shown(second)} here`);
  const list = values.length > 3 ? [...values.slice(0, 3), `${values.length - 3} more`] : values;
  const text = list.length > 0 ? `: ${list.join('; ')}` : '';
  return new DomainError(
    'CampaignExists',
    `name: "${stored.name}" is taken by a campaign with another spec${text}; ${remedy}`,
  );
}

/** Returns the error of a file that cannot be started. */
export const invalidSpec = (source: string, problems: readonly string[]): DomainError =>
  invalid(
    source,
    problems,
    `docs/spec.md explains every field; \`coevolve start ${source} --dry-run\` checks it without starting.`,
  );

function invalid(source: string, problems: readonly string[], next: string): DomainError {
  const list = problems.map((problem) => `  ${problem}`).join('\n');
  return new DomainError('InvalidSpec', `${source} is not a campaign spec:\n${list}\n${next}`);
}
