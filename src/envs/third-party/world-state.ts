import { canonicalJson } from '../../domain/base/canonical-json';
import { sha256 } from '../../base/sha256';
import { EnvironmentError } from '../base/environment-error';
import type { WireSession } from '../openenv/socket';
import type { ThirdPartyServer } from './read-servers';

/**
 * Returns the sha256 of the fields of a session's state that the server's settings name; null without this setting. No
 * field is taken for the world's state unasked: most are counters of the episode.
 *
 * @throws EnvironmentError `rejected` if the state lacks a field
 */
export async function worldStateOf(
  { name, state: fields }: Pick<ThirdPartyServer, 'name' | 'state'>,
  session: Pick<WireSession, 'state'>,
): Promise<string | null> {
  if (!fields) return null;
  const state = await session.state();
  const missing = fields.find((field) => !Object.hasOwn(state, field));
  if (missing === undefined) return sha256(canonicalJson(fields.map((field) => state[field])));
  throw new EnvironmentError(
    'rejected',
    `servers.${name}.state: found "${missing}", expected one of ${Object.keys(state).join(', ') || 'none'}, the fields of the server's state`,
  );
}
