import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../../input/merge';
import { roomyAction, roomyLength, type RowLength } from '../../domain/training/row-lengths';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { SpecChange } from '../../specification/spec-layers';

/** Declared and measured properties of an environment; null: unknown. */
export type EnvironmentFacts = {
  /** Tasks that suit a first campaign, as the environment declares them. */
  trainTasks: number | null;
  heldOutTasks: number | null;
  /** Tokens of its trajectories for the embedded policy, as it declares them. */
  maxPositions: number | null;
  /** Number of existing tasks, at most the requested number. */
  availableTrain: number | null;
  availableHeldOut: number | null;
  rows: readonly RowLength[] | null;
};

/** A default of a spec that its environment determines. */
export type ChosenDefault = SpecChange & { reason: string };

const methods = ['sft', 'rft', 'dpo', 'target', 'grpo', 'ppo'];

/** Keys whose defaults depend on the environment or came after release 0.1.0: a stored campaign keeps its values. */
const keptKeys: readonly (readonly string[])[] = [
  ['environment', 'trainTasks'],
  ['environment', 'heldOutTasks'],
  ['training', 'init', 'maxPositions'],
  ['rollouts', 'maxTokens'],
  ...methods.map((method) => ['training', method, 'maxLostActions']),
];

/**
 * Returns the defaults of a spec that differ from the general ones on its environment.
 *
 * @param given the spec as its author wrote it; keys with a value stay
 * @param spec  the same with the general defaults
 */
export function environmentDefaults(given: unknown, spec: CampaignSpec, facts: EnvironmentFacts): ChosenDefault[] {
  const { environment, rollouts, training, policy } = spec;
  const { rows } = facts;
  const measured = rows === null ? 'declared' : `measured on ${rows.length} of its trajectories`;
  const train = Math.min(facts.trainTasks ?? environment.trainTasks, facts.availableTrain ?? Infinity);
  const heldOut = Math.min(facts.heldOutTasks ?? environment.heldOutTasks, facts.availableHeldOut ?? Infinity);
  const { maxPositions } = training.init;
  const positions = Math.max(maxPositions, facts.maxPositions ?? 0, rows ? roomyLength(rows) : 0);
  const action = Math.max(rollouts.maxTokens, rows ? roomyAction(rows) : 0);
  const chosen: [path: readonly string[], value: number, reason: string][] = [
    [['environment', 'trainTasks'], train, train === facts.trainTasks ? 'declared' : 'all that it has'],
    [['environment', 'heldOutTasks'], heldOut, heldOut === facts.heldOutTasks ? 'declared' : 'all that it has'],
    ...(policy.source === 'scratch'
      ? [[['training', 'init', 'maxPositions'], positions, measured] satisfies [string[], number, string]]
      : []),
    [['rollouts', 'maxTokens'], action, measured],
  ];
  return chosen
    .filter(([path, value]) => value > 0 && !isGiven(given, path) && valueAt(spec, path) !== value)
    .map(([path, value, reason]) => ({ path, value, reason }));
}

/**
 * Returns the values of a stored campaign for keys that its author leaves out: a second start uses no environment, whose
 * tasks may have changed, and a campaign of an older release has the defaults of that release.
 */
export const storedDefaults = (given: unknown, spec: CampaignSpec, stored: CampaignSpec): SpecChange[] =>
  keptKeys
    .filter((path) => !isGiven(given, path) && !isDeepStrictEqual(valueAt(spec, path), valueAt(stored, path)))
    .map((path) => ({ path, value: valueAt(stored, path) }));

const isGiven = (given: unknown, path: readonly string[]): boolean => valueAt(given, path) !== undefined;
