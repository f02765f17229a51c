import { sha256 } from '../../files/sha256';
import { canonicalJson } from '../../domain/canonical-json';
import type { Arm, Experiment } from '../../domain/experiment/experiment';
import { findStoredSpec } from '../read-spec';
import { withStoredLimits } from '../recipe-defaults';
import { defaultBounds } from './experiment-schema';
import { armSpec, placeholder } from './resolve-arms';

/** sha256 of the canonical JSON of an experiment: independent of the order of keys. */
export const experimentHash = (experiment: Experiment): string => sha256(canonicalJson(experiment));

/** Returns whether two frozen experiments are equal after defaults for the keys of specs that an upgrade has added. */
export const isSameExperiment = (one: Experiment, other: Experiment): boolean =>
  experimentHash(comparable(one, other)) === experimentHash(comparable(other, one));

const comparable = (one: Experiment, other: Experiment): Experiment =>
  upgraded(withBoundsOf(withLimitsOf(one, other), other));

/** Release 0.1.0 froze a file without bounds of effort with these. */
const earlierBounds = { trainedTokens: 0.05, rolloutTokens: 0.05 };

const withBoundsOf = (one: Experiment, other: Experiment): Experiment =>
  isEqual(one.match.within, defaultBounds) && isEqual(other.match.within, earlierBounds)
    ? { ...one, match: { ...one.match, within: earlierBounds } }
    : one;

const isEqual = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

/** An author sees no bound on lost actions in a file that an earlier release froze without one. */
const withLimitsOf = (one: Experiment, other: Experiment): Experiment => ({
  ...one,
  arms: one.arms.map((arm, index) => ({
    ...arm,
    spec: withStoredLimits(arm.spec, other.arms[index]?.spec) as Arm['spec'],
  })),
});

/** Returns an experiment that an earlier release may have frozen, with defaults for the keys of specs that were added since. */
export const upgraded = (experiment: Experiment): Experiment => ({
  ...experiment,
  arms: experiment.arms.map(upgradedArm),
});

function upgradedArm(arm: Arm): Arm {
  const spec = findStoredSpec({ ...arm.spec, ...placeholder });
  return spec ? { ...arm, spec: armSpec(spec) } : arm;
}
