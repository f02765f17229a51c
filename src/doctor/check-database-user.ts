import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Stack } from '../stack/service-definition';
import type { Check } from './check';

/** User ids that an environment server of root gives to its children: `USERS` of its processes/user_ids.py. */
export const childUsers = { from: 60_706, to: 61_183 };

/**
 * Checks that no other program shares the user of the embedded cluster, since it could read and stop the database. Returns
 * none without a cluster, and none for an ordinary user, to whom all processes of the stack belong.
 */
export function checkDatabaseUser({ config, state }: Stack): Check[] {
  const directory = state.postgresDirectory ?? path.join(config.home, 'postgres');
  if (process.getuid?.() !== 0 || !existsSync(directory)) return [];
  const { uid } = statSync(directory);
  const user = nameOf(uid);
  const reason = sharedWith(uid, user);
  const base = { name: 'postgres user', ok: true };
  if (!reason) return [{ ...base, detail: `${user} (${uid})` }];
  const own = user === 'nobody' ? 'useradd --system postgres' : `usermod --uid <another id> ${user}`;
  const owner = user === 'nobody' ? 'postgres' : user;
  const enter = directory.startsWith(config.home) ? ` && chgrp ${owner} ${config.home}` : '';
  const next = `coevolve down && ${own} && chown -R ${owner}: ${directory}${enter} && coevolve up`;
  return [{ ...base, warning: true, detail: `${user} (${uid}): ${reason}`, next }];
}

const nameOf = (uid: number): string =>
  spawnSync('id', ['-nu', String(uid)], { encoding: 'utf8' }).stdout?.trim() || String(uid);

function sharedWith(uid: number, user: string): string | null {
  if (user === 'nobody') return 'other services of this machine may use the same user';
  if (uid < childUsers.from || uid > childUsers.to) return null;
  return `children of the environment server get the ids ${childUsers.from} to ${childUsers.to}`;
}
