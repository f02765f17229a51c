import { merge, isSection } from '../input/merge';
import { fieldOf, type ParsedYaml, withPosition } from '../input/parse-yaml';

/** A file of a spec, parsed. Its values replace values of the layers below it. */
export type SpecLayer = ParsedYaml & { file: string };

/** A value that replaces the one at its path in the spec, or is added to it. */
export type SpecChange = { path: readonly string[]; value: unknown };

/** Returns the values of a spec: all layers from the lowest to the highest, and then the changes. */
export function mergeLayers(layers: readonly SpecLayer[], changes: readonly SpecChange[]): unknown {
  const [first, ...others] = layers.map(({ value }) => value);
  return changes.reduce<unknown>(withChange, others.reduce<unknown>(merge, first));
}

/** Returns the spec with the value of the change at its path. */
export function withChange(spec: unknown, { path: [key, ...rest], value }: SpecChange): unknown {
  if (key === undefined) return value;
  const section = isSection(spec) ? spec : {};
  const below = Object.hasOwn(section, key) ? section[key] : undefined;
  return { ...section, [key]: withChange(below, { path: rest, value }) };
}

/**
 * Adds the position of its field to a problem: in the highest of the layers that have the field, or else the most of the
 * sections around it.
 *
 * @param source file whose positions need no name
 */
export function withLayer(problem: string, layers: readonly SpecLayer[], source: string): string {
  const path = fieldOf(problem);
  const depths = layers.map(({ value }) => depthOf(value, path));
  const layer = layers[depths.lastIndexOf(Math.max(...depths))]!;
  const text = withPosition(problem, layer);
  return text === problem || layer.file === source ? text : `${layer.file}, ${text}`;
}

/** Returns how many keys of a path exist. */
function depthOf(value: unknown, [key, ...rest]: readonly string[]): number {
  if (key === undefined || !isSection(value) || !Object.hasOwn(value, key)) return 0;
  return 1 + depthOf(value[key], rest);
}
