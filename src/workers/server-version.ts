import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { sha256 } from '../files/sha256';
import type { Config } from '../config';
import { readState } from '../stack/stack-state';
import { trainerVersion } from '../training/local/trainer-command';

/** Code of the servers that the version of the trainer does not cover. */
const folders = ['environments/src', 'trainer/src/coevolve_policy_server', 'requirements'];

/**
 * Returns a function that gives the sha256 of everything of the environment and policy servers that can change an attempt:
 * their code, packages and CPU. The first call computes it; servers and workers start again together. It
 * gives null when a server was not started by this stack, because its code is unknown.
 */
export function serverVersion(config: Config): () => Promise<string | null> {
  let version: Promise<string> | undefined;
  return async () => (runsHere(config) ? (version ??= hashServers(config)) : null);
}

function runsHere({ home, environment, policy }: Config): boolean {
  const { ports } = readState(home);
  const isAt = (url: string | undefined, port: number | undefined): boolean =>
    url !== undefined && port !== undefined && new URL(url).host === `127.0.0.1:${port}`;
  return isAt(environment.url, ports['environment-server']) && isAt(policy.url, ports['policy-server']);
}

async function hashServers(config: Config): Promise<string> {
  const parts = [await trainerVersion(config)];
  for (const folder of folders) {
    const root = path.join(config.projectRoot, folder);
    const files = (await readdir(root, { recursive: true })).filter((file) => /\.(py|lock)$/.test(file)).sort();
    for (const file of files) parts.push(`${folder}/${file} ${sha256(await readFile(path.join(root, file), 'utf8'))}`);
  }
  return sha256(parts.join('\n'));
}
