import type { Config } from '../../config';
import { canonicalJson } from '../../domain/canonical-json';
import type { Arm } from '../../domain/experiment/experiment';
import { valueAt } from '../../input/merge';
import { trainsPolicies } from '../../specification/estimate-training';
import { loadExperiment, type LoadedExperiment } from '../../specification/experiment/read-experiment';
import type { GivenSpec } from '../../specification/read-spec';
import { withChange, type SpecChange } from '../../specification/spec-layers';
import { experimentVersionStore } from '../../store/experiment/versions';
import { askEnvironment } from '../choose-defaults';
import { withConnections } from '../connections';
import { sizeKeys, valuesLeftOut, type ChosenDefault } from '../fit/environment-defaults';

/** Called with each default once. */
type OnChosen = (environment: string, chosen: ChosenDefault) => void;

/**
 * Reads an experiment file. Sizes and lengths that it leaves out come from the environment, arm by arm, and those of a frozen
 * experiment stay. An experiment compares how its arms learn: the settings that an environment declares for first
 * campaigns are not used.
 *
 * @throws DomainError and UsageError as `loadExperiment`
 */
export async function loadForEnvironment(
  config: Config,
  file: string,
  { profile, onChosen }: { profile?: string | undefined; onChosen: OnChosen },
): Promise<LoadedExperiment> {
  const loaded = await loadExperiment(file, { profile });
  const frozen = await findFrozen(config, loaded.experiment.name);
  const defaults = new Map<string | null, readonly SpecChange[]>();
  const asked = new Map<string, ChosenDefault[]>();
  for (const [arm, read] of loaded.given) {
    const stored = frozen && storedSpec(frozen, arm);
    const key = deciding(read);
    const chosen = stored ? [] : (asked.get(key) ?? (await askEnvironment(config, read, { sizesOnly: true })));
    if (!asked.has(key)) for (const one of chosen) onChosen(read.spec.environment.name, one);
    asked.set(key, chosen);
    defaults.set(arm, stored ? valuesLeftOut(sizeKeys, read.given, stored) : chosen);
  }
  if ([...defaults.values()].every((changes) => changes.length === 0)) return loaded;
  return await loadExperiment(file, { profile, defaultsOf: (arm) => defaults.get(arm) ?? [] });
}

async function findFrozen({ databaseUrl, ...config }: Config, name: string): Promise<readonly Arm[] | undefined> {
  if (!databaseUrl) return undefined;
  const find = withConnections(({ pool }) => experimentVersionStore(pool).find(name), { ...config, databaseUrl });
  return (await find.catch(() => undefined))?.resolved.arms;
}

/** Returns the frozen spec of an arm; that of the base for an arm that an amendment adds. */
function storedSpec(frozen: readonly Arm[], name: string | null): unknown {
  const arm = frozen.find((each) => each.name === name);
  if (arm) return arm.spec;
  const { spec, differences } = frozen[0]!;
  return differences.reduce<unknown>(
    (base, { key, base: value }) => withChange(base, { path: key.split('.'), value }),
    spec,
  );
}

/** Returns the part of a spec on which the answer of the environment depends. */
const deciding = ({ given, spec }: GivenSpec): string =>
  canonicalJson([
    sizeKeys.map((key) => [valueAt(given, key.split('.')) ?? null, valueAt(spec, key.split('.'))]),
    spec.environment,
    spec.policy,
    spec.training.init,
    spec.rollouts.thinking,
    trainsPolicies(spec),
  ]);
