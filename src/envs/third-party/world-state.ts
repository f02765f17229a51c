import { canonicalJson } from '../../domain/canonical-json';
import { sha256 } from '../../files/sha256';
import { EnvironmentError } from '../contract/environment-error';
import type { WireSession } from '../openenv/socket';
import type { ThirdPartyServer } from './read-servers';

/** The fields of a session's state that the server's settings name, in their order. */
export type WorldState = [field: string, value: unknown][];

/**
 * Returns the state of a session's world; null without the setting. No field is taken for the world's state unasked: most
 * are counters of the episode.
 *
 * @throws EnvironmentError `rejected` if the state lacks a field
 */
export async function worldStateOf(
  { name, state: fields }: Pick<ThirdPartyServer, 'name' | 'state'>,
  session: Pick<WireSession, 'state'>,
): Promise<WorldState | null> {
  if (!fields) return null;
  const state = await session.state();
  const missing = fields.find((field) => !Object.hasOwn(state, field));
  if (missing === undefined) return fields.map((field) => [field, state[field]]);
  throw new EnvironmentError(
    'rejected',
    `servers.${name}.state: found "${missing}", expected one of ${Object.keys(state).join(', ') || 'none'}, the fields of the server's state`,
  );
}

/** Returns the sha256 of the values. */
export const stateHash = (state: WorldState): string => sha256(canonicalJson(state.map(([, value]) => value)));

/** A value in a state: its path of field names, and its JSON. */
type Fact = [path: string, value: string];

/** Returns the values of a state without parts; a list is one value. */
export function factsOf(state: WorldState): Fact[] {
  const leaves = (value: unknown, path: string): Fact[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, inner]) => leaves(inner, `${path}.${name}`))
      : [[path, canonicalJson(value)]];
  return state.flatMap(([field, value]) => leaves(value, field));
}

/** Returns the facts of an end that its start lacks, and that hold in a second end too. */
export function changedFacts(start: WorldState, end: WorldState, again: WorldState): Fact[] {
  const [before, second] = [new Map(factsOf(start)), new Map(factsOf(again))];
  return factsOf(end).filter(([path, value]) => before.get(path) !== value && second.get(path) === value);
}

export function holdsFacts(facts: readonly Fact[], state: WorldState): boolean {
  const held = new Map(factsOf(state));
  return facts.every(([path, value]) => held.get(path) === value);
}

/** Returns what the end of an attempt shows to the judge of a composed task; the policy does not read it. */
export function changesText(before: WorldState, after: WorldState): string {
  const short = (value: unknown): string => canonicalJson(value).slice(0, maxValue);
  const changes = after.flatMap(([field, value], i) => {
    const old = before[i]![1];
    return canonicalJson(old) === canonicalJson(value) ? [] : [`- ${field}: ${short(old)} -> ${short(value)}`];
  });
  if (changes.length === 0) return 'The actions have changed nothing in the world.';
  return ['The actions have changed in the world:', ...changes].join('\n');
}

const maxValue = 200;
