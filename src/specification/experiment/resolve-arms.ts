import { didYouMean } from '../../input/did-you-mean';
import { strangeValues } from '../../input/parse-yaml';
import { canonicalJson } from '../../domain/canonical-json';
import { cellCampaign, type Arm } from '../../domain/experiment/experiment';
import type { CampaignSpec } from '../campaign-spec';
import { differencesOf } from '../../input/differences';
import { synthesizes } from '../../domain/campaign/recipe';
import { resolve, type GivenSpec } from '../read-spec';
import { mergeLayers, withLayer, type SpecLayer } from '../spec-layers';
import { usedSettings } from '../used-settings';
import type { ExperimentFile } from './experiment-schema';

type Read = { arms: Arm[]; problems: string[]; given: GivenArms };

/** Values of the file alone, with a name and a seed, beside the spec that they resolve to; `null`: the base. */
export type GivenArms = ReadonlyMap<string | null, GivenSpec>;

/** Returns the layers of an arm, or of the base alone (null), from the lowest. */
export type LayersOf = (arm: string | null) => SpecLayer[];
type ArmInput = ExperimentFile['arms'][string];

/** Resolves the base and every arm. Problems of the base are listed once and not for every arm. */
export function resolveArms(file: ExperimentFile, layersOf: LayersOf, source: string): Read {
  const layers = layersOf(null);
  const base = resolveLayers(layers, {});
  const inBase = 'problems' in base ? base.problems.map((problem) => located('base', problem, layers, source)) : [];
  const given = new Map<string | null, GivenSpec>();
  if ('problems' in base) return { arms: [], problems: inBase, given };

  const problems = [...armProblems(file), ...loopProblems(file)];
  if (problems.length > 0) return { arms: [], problems, given };
  given.set(null, { given: valuesOf(layers), spec: base });
  const arms = new Map<string, Arm>();
  const specs = new Map<string, CampaignSpec>();
  for (const [name, arm] of inOrder(file)) {
    const original = arm.replicaOf ?? name;
    const matches = matchedBy(file.arms[original]!);
    const own = layersOf(original);
    const spec = resolveLayers(own, {
      ...(arm.replicaOf ? { replica: replicaNumber(file, name) } : {}),
      ...(matches === null ? {} : { synthesis: { match: cellCampaign(file.name, { arm: matches, seed: 1 }) } }),
    });
    if ('problems' in spec) {
      problems.push(...spec.problems.map((problem) => located(`arms.${name}`, problem, own, source)));
      continue;
    }
    specs.set(name, spec);
    given.set(name, { given: valuesOf(own), spec });
    problems.push(...matchProblems(name, file.arms[original]!, specs));
    arms.set(name, {
      name,
      replicaOf: arm.replicaOf ?? null,
      spec: armSpec(spec),
      differences: differencesOf(base, spec).map(({ key, first, second }) => ({
        key,
        base: first ?? null,
        arm: key === 'synthesis.match' ? matches : (second ?? null),
      })),
      matches,
    });
  }
  return { arms: [...arms.values()], problems: [...problems, ...equalArms([...arms.values()], specs)], given };
}

/** Adds the position and the part of the experiment to a problem of its campaign spec. */
function located(part: string, problem: string, layers: readonly SpecLayer[], source: string): string {
  const text = withLayer(problem, layers, source);
  return `${text.slice(0, text.length - problem.length)}${part}: ${problem}`;
}

/** Keys that are no part of an arm; the campaign spec requires them. */
export const placeholder = { name: 'arm', seed: 0 };

const valuesOf = (layers: readonly SpecLayer[]): object => ({ ...(mergeLayers(layers, []) as object), ...placeholder });

function resolveLayers(layers: readonly SpecLayer[], added: Record<string, unknown>): ReturnType<typeof resolve> {
  const value = mergeLayers([...layers, { file: '', value: added, positionOf: () => undefined }], []);
  const strange = strangeValues(value);
  return strange.length > 0 ? { problems: strange } : resolve({ ...(value as object), ...placeholder });
}

export function armSpec({ name: _name, seed: _seed, ...spec }: CampaignSpec): Record<string, unknown> {
  return { ...spec, synthesis: { ...spec.synthesis, match: null } };
}

const matchedBy = ({ match }: ArmInput): string | null => {
  if (!match) return null;
  return 'admitted' in match ? match.admitted : match.admittedInTotal;
};

const replicaNumber = ({ arms }: ExperimentFile, name: string): number =>
  1 +
  Object.entries(arms)
    .filter(([, { replicaOf }]) => replicaOf === arms[name]!.replicaOf)
    .findIndex(([other]) => other === name);

/** Arms in the order of the file; an arm stands behind the one that it matches, and a replica behind its original. */
function inOrder({ arms }: ExperimentFile): [string, ArmInput][] {
  const ordered = new Map<string, ArmInput>();
  const add = (name: string): void => {
    if (ordered.has(name)) return;
    for (const before of needs(arms, name)) add(before);
    ordered.set(name, arms[name]!);
  };
  for (const name of Object.keys(arms)) add(name);
  return [...ordered];
}

function needs(arms: ExperimentFile['arms'], name: string): string[] {
  const arm = arms[name]!;
  return [arm.replicaOf ?? [], matchedBy(arm) ?? []].flat();
}

function armProblems({ arms, mayDiffer }: ExperimentFile): string[] {
  const names = Object.keys(arms);
  const few = names.length < 2 ? [`arms: found ${names.length}, expected at least 2`] : [];
  return [
    ...few,
    ...Object.entries(arms).flatMap(([name, { set, match, replicaOf }]) => {
      const at = `arms.${name}`;
      return [
        ...Object.entries({ match: matchedBy(arms[name]!), replicaOf })
          .filter((entry): entry is [string, string] => Boolean(entry[1]) && !names.includes(entry[1]!))
          .map(([key, other]) => `${at}.${key}: found "${other}", expected another arm${didYouMean(other, names)}`),
        ...(replicaOf && (match || Object.keys(set).length > 0)
          ? [`${at}: found set or match, expected replicaOf alone: a replica has the spec of ${replicaOf}`]
          : []),
        ...(replicaOf && arms[replicaOf]?.replicaOf
          ? [`${at}.replicaOf: found "${replicaOf}", a replica, expected ${arms[replicaOf].replicaOf}`]
          : []),
        ...keysOf(set)
          .filter((key) => fixed.some((each) => isWithin(key, each)) && !mayDiffer.some((each) => isWithin(key, each)))
          .map((key) => `${at}.set: found ${key}, expected ${expectedOf(key)}`),
      ];
    }),
  ];
}

/** Sections and keys that are equal for all arms. */
const fixed = ['environment', 'evaluation', 'budget', 'name', 'seed', 'replica', 'weight', 'synthesis.match'];
const isWithin = (key: string, section: string): boolean => key === section || key.startsWith(`${section}.`);

function expectedOf(key: string): string {
  if (key === 'synthesis.match') return '`match: { admitted: <arm> }` beside set';
  if (key === 'replica') return '`replicaOf: <arm>` beside set';
  if (['name', 'seed', 'weight'].includes(key)) return 'another key: every cell has its own name and seed';
  return `the same value for all arms: write it to base, or list the key under mayDiffer`;
}

/** Returns the paths of all values of an arm, nested or dotted. */
const keysOf = (value: unknown, prefix = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, inner]) => keysOf(inner, prefix ? `${prefix}.${key}` : key))
    : [prefix].filter(Boolean);

function loopProblems({ arms }: ExperimentFile): string[] {
  return Object.keys(arms).flatMap((start) => {
    const path = [start];
    for (let [next] = needs(arms, start); next !== undefined && arms[next]; [next] = needs(arms, next)) {
      if (next === start) return [`arms.${start}.match: found ${[...path, start].join(' -> ')}, expected no loop`];
      if (path.includes(next)) return []; // reported at an arm of the loop
      path.push(next);
    }
    return [];
  });
}

/** `admittedInTotal` belongs to an arm whose pool grows once, and only a pool that grows can be matched. */
function matchProblems(name: string, { match }: ArmInput, specs: ReadonlyMap<string, CampaignSpec>): string[] {
  if (!match) return [];
  const other = 'admitted' in match ? match.admitted : match.admittedInTotal;
  const matched = specs.get(other);
  const once = specs.get(name)!.synthesis.when === 'first';
  const [found, expected] = once ? ['admitted', 'admittedInTotal'] : ['admittedInTotal', 'admitted'];
  return [
    ...(found in match
      ? [`arms.${name}.match: found ${found}, expected ${expected}: synthesis.when is ${once ? 'first' : 'every'}`]
      : []),
    ...(matched && !synthesizes(matched)
      ? [`arms.${name}.match: found "${other}", expected an arm that admits tasks: the pool of ${other} does not grow`]
      : []),
  ];
}

/** Two arms whose specs differ only in keys that their recipe does not read are one arm. */
function equalArms(arms: readonly Arm[], specs: ReadonlyMap<string, CampaignSpec>): string[] {
  const keyOf = ({ name, matches }: Arm): string => canonicalJson([usedSettings(specs.get(name)!), matches]);
  const originals = arms.filter(({ replicaOf }) => replicaOf === null);
  return originals.flatMap((arm, n) => {
    const same = originals.slice(0, n).find((other) => keyOf(other) === keyOf(arm));
    if (!same) return [];
    return [
      `arms.${arm.name}: found the spec of ${same.name}, expected a difference, or \`replicaOf: ${same.name}\` for an A/A comparison`,
    ];
  });
}
