import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../../input/merge';
import { didYouMean } from '../../input/did-you-mean';
import { DomainError } from '../../domain/errors';
import { roomyAction, roomyLength, type RowLength } from '../../domain/training/row-lengths';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { SpecChange } from '../../specification/spec-layers';
import { hasEffect } from '../../specification/used-settings';

/** Declared and measured properties of an environment; null: unknown. */
export type EnvironmentFacts = {
  /** Tasks that suit a first campaign, as the environment declares them. */
  trainTasks: number | null;
  heldOutTasks: number | null;
  /** Tokens of its trajectories and of its actions for the embedded policy, as it declares them. */
  maxPositions: number | null;
  maxTokens: number | null;
  /** Other keys by path, as it declares them. Except `ofTasks`, they hold for a policy from scratch. */
  settings: Readonly<Record<string, unknown>>;
  /** Number of existing tasks, at most the requested number. */
  availableTrain: number | null;
  availableHeldOut: number | null;
  rows: readonly RowLength[] | null;
};

/** A default of a spec that its environment determines. */
export type ChosenDefault = SpecChange & { reason: string };

const methods = ['sft', 'rft', 'dpo', 'target', 'grpo', 'ppo'];

/** Keys of an environment's `settings` that hold for any policy. */
const ofTasks: readonly string[] = ['admission.compare'];

/** Keys that the `settings` of an environment may contain. */
const declarable: readonly string[] = [
  ...ofTasks,
  'iterations',
  'rollouts.attempts',
  'rollouts.tasksPerIteration',
  'synthesis.candidatesPerSignal',
  ...['vocabularySize', 'hiddenSize', 'layers', 'feedForwardSize'].map((key) => `training.init.${key}`),
  ...methods.flatMap((method) =>
    ['epochs', 'updates', 'batchSize', 'learningRate', 'schedule', 'stopAtLoss'].map(
      (key) => `training.${method}.${key}`,
    ),
  ),
];

/** Keys of sizes and lengths. */
export const sizeKeys: readonly string[] = [
  'environment.trainTasks',
  'environment.heldOutTasks',
  'training.init.maxPositions',
  'rollouts.maxTokens',
];

/** Keys whose defaults depend on the environment or came after release 0.1.0: a stored campaign keeps its values. */
const keptKeys: readonly string[] = [
  ...sizeKeys,
  'synthesis.minActions',
  'synthesis.examples',
  ...methods.map((method) => `training.${method}.maxLostActions`),
];

/**
 * Returns the defaults of a spec that differ from the general ones on its environment.
 *
 * @param given the spec as its author wrote it; keys with a value stay
 * @param spec  the same with the general defaults
 * @throws DomainError `InvalidEnvironment` if the environment declares a key that it may not
 */
export function environmentDefaults(given: unknown, spec: CampaignSpec, facts: EnvironmentFacts): ChosenDefault[] {
  const { environment, rollouts, training, policy } = spec;
  const { rows } = facts;
  const measured = rows === null ? 'declared' : `measured on ${rows.length} of its trajectories`;
  const train = Math.min(facts.trainTasks ?? environment.trainTasks, facts.availableTrain ?? Infinity);
  const heldOut = Math.min(facts.heldOutTasks ?? environment.heldOutTasks, facts.availableHeldOut ?? Infinity);
  const { maxPositions } = training.init;
  const positions = Math.max(maxPositions, facts.maxPositions ?? 0, rows ? roomyLength(rows) : 0);
  const action = Math.max(rollouts.maxTokens, facts.maxTokens ?? 0, rows ? roomyAction(rows) : 0);
  const sizes: Chosen[] = [
    [['environment', 'trainTasks'], train, train === facts.trainTasks ? 'declared' : 'all that it has'],
    [['environment', 'heldOutTasks'], heldOut, heldOut === facts.heldOutTasks ? 'declared' : 'all that it has'],
    ...(policy.source === 'scratch'
      ? [[['training', 'init', 'maxPositions'], positions, measured] satisfies Chosen]
      : []),
    [['rollouts', 'maxTokens'], action, measured],
  ];
  return [...sizes.filter(([, value]) => value !== 0), ...declaredSettings(given, spec, facts)]
    .filter(([path, value]) => !isGiven(given, path) && !isDeepStrictEqual(valueAt(spec, path), value))
    .map(([path, value, reason]) => ({ path, value, reason }));
}

type Chosen = [path: readonly string[], value: unknown, reason: string];

/** Rates and passes hold for the policy with which they were tried. */
function declaredSettings(given: unknown, spec: CampaignSpec, { settings }: EnvironmentFacts): Chosen[] {
  const { name } = spec.environment;
  const strange = Object.keys(settings).find((key) => !declarable.includes(key));
  if (strange !== undefined)
    throw new DomainError(
      'InvalidEnvironment',
      `spec_defaults of ${name}: found settings["${strange}"], expected one of ${declarable.join(', ')}` +
        `${didYouMean(strange, declarable)}; correct the file of the environment, then run \`coevolve up\``,
    );
  return Object.entries(settings)
    .filter(([key]) => spec.policy.source === 'scratch' || ofTasks.includes(key))
    .map(([key, value]): Chosen => [key.split('.'), value, 'declared'])
    .filter(([path]) => hasEffect(spec, path) && !hasOtherLength(given, path));
}

/** Returns whether an author chose the number of passes where an environment declares that of updates, or the reverse. */
function hasOtherLength(given: unknown, path: readonly string[]): boolean {
  const other = { epochs: 'updates', updates: 'epochs' }[path.at(-1)!];
  return other !== undefined && isGiven(given, [...path.slice(0, -1), other]);
}

/**
 * Returns the values of a stored campaign for keys that its author leaves out: a second start uses no environment, whose
 * tasks may have changed, and a campaign of an older release has the defaults of that release.
 */
export function storedDefaults(given: unknown, spec: CampaignSpec, stored: CampaignSpec): SpecChange[] {
  const ofRecipe = ['pairs.lastTraining', ...declarable]; // another recipe may refuse them
  const keys = spec.recipe === stored.recipe ? [...keptKeys, ...ofRecipe] : keptKeys;
  return valuesLeftOut(keys, given, stored).filter(({ path, value }) => !isDeepStrictEqual(valueAt(spec, path), value));
}

/** Returns stored values for those of the keys that an author leaves out. */
export const valuesLeftOut = (keys: readonly string[], given: unknown, stored: unknown): SpecChange[] =>
  keys
    .map((key) => key.split('.'))
    .filter((path) => !isGiven(given, path))
    .map((path) => ({ path, value: valueAt(stored, path) }));

const isGiven = (given: unknown, path: readonly string[]): boolean => valueAt(given, path) !== undefined;
