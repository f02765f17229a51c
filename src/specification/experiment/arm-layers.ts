import { UsageError } from '../../errors/errors';
import { isSection, merge } from '../../input/merge';
import type { ParsedYaml } from '../../input/parse-yaml';
import { fileBeside, specLayers } from '../read-spec-file';
import { withChange, type SpecLayer } from '../spec-layers';
import type { ExperimentFile } from './experiment-schema';

type Source = { file: string; parsed: ParsedYaml; profile: string | null };

/** A section of the experiment file that has keys of the campaign spec; `at`: its path in the file. */
const sectionLayer = ({ file, parsed }: Source, at: readonly string[], value: unknown): SpecLayer => ({
  file,
  value,
  positionOf: (keys) => parsed.positionOf([...at, ...keys]),
});

/**
 * Returns the layers that all arms have in common, from the lowest: the rule that promotes every candidate, because a gate
 * reports the best of several scores; the base; the base of the profile; the sizes of the evaluation sets.
 */
export async function baseLayers(source: Source, read: ExperimentFile): Promise<SpecLayer[]> {
  const { base, profiles, evaluation } = read;
  const { extends: extended, ...inline }: Record<string, unknown> = typeof base === 'string' ? { extends: base } : base;
  const layers: SpecLayer[] = [
    { file: source.file, value: { promotion: { rule: 'always' } }, positionOf: () => undefined },
  ];
  for (const name of [extended ?? []].flat() as unknown[]) {
    if (typeof name !== 'string')
      throw new UsageError(`base.extends: found ${JSON.stringify(name)}, expected a file or a list of files`);
    layers.push(...(await specLayers(fileBeside(source.file, name))));
  }
  if (Object.keys(inline).length > 0) layers.push(sectionLayer(source, ['base'], inline));
  const ofProfile = source.profile === null ? undefined : profiles[source.profile]?.base;
  if (ofProfile) layers.push(sectionLayer(source, ['profiles', source.profile!, 'base'], ofProfile));
  if (evaluation)
    layers.push({
      ...sectionLayer(source, [], sizes(evaluation)),
      positionOf: () => source.parsed.positionOf(['evaluation']),
    });
  return layers.map((layer) => ({ ...layer, value: withoutIdentity(layer.value) }));
}

/** Every cell has a name and a seed of its own. */
function withoutIdentity(value: unknown): unknown {
  if (!isSection(value)) return value;
  const { name: _name, seed: _seed, ...others } = value;
  return others;
}

const sizes = ({ dev, test, temperature, attempts }: NonNullable<ExperimentFile['evaluation']>) => ({
  environment: { heldOutTasks: dev + test },
  evaluation: {
    sets: { test: { tasks: test } },
    ...(temperature === undefined ? {} : { temperature }),
    ...(attempts === undefined ? {} : { attempts }),
  },
});

/** Returns the layer of an arm. A dotted key is a path: `synthesis.aims: none`. */
export function armLayer(source: Source, arm: string, set: Record<string, unknown>): SpecLayer {
  const keys = Object.keys(set).map((key) => ({ key, path: key.split('.') }));
  const value = keys.reduce<unknown>(
    (all, each) => merge(all, withChange({}, { path: each.path, value: set[each.key] })),
    {},
  );
  const positionOf = (field: readonly string[]): string | undefined => {
    const found = keys.find(({ path: own }) => own.every((part, n) => field[n] === part || field[n] === undefined));
    const rest = found ? [found.key, ...field.slice(found.path.length)] : [];
    return source.parsed.positionOf(['arms', arm, 'set', ...rest]);
  };
  return { file: source.file, value, positionOf };
}
