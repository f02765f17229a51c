import { readFile } from 'node:fs/promises';
import { cpus, hostname } from 'node:os';
import type { PlayedOn } from '../domain/experiment/played-on';
import { sha256 } from '../files/sha256';
import { codeCommit } from './code-version';

/**
 * Returns the machine of this process, and the commit of the installation at `root`. It never fails.
 *
 * The machine is a hash of its id, or of its host name where it has none: tables are published, and host names name people
 * and networks.
 */
export async function playedOn(root: string): Promise<PlayedOn> {
  const id = await readFile('/etc/machine-id', 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  const processors = cpus();
  return {
    machine: sha256(`coevolve machine ${id || hostname()}`).slice(0, 16),
    processor: processors[0]?.model.trim() || null,
    cores: processors.length,
    ...(await codeCommit(root)),
  };
}
