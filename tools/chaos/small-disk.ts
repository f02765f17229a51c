import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

/** Small file system for the artifacts, which faults fill. */
export type SmallDisk = { fill(): void; empty(): void; unmount(): void };

const sizeMb = 256;
const chunkBytes = 1 << 20;

/** Mounts a small file system; returns undefined without the permission to mount: only root has it, not in every container. */
export function mountSmallDisk(folder: string): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true });
  const options = ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'coevolve-chaos', folder];
  if (spawnSync('mount', options).status !== 0) return undefined;
  const filler = path.join(folder, 'filler');
  return {
    fill: () => fillUp(filler),
    empty: () => rmSync(filler, { force: true }),
    unmount: () => void spawnSync('umount', ['-l', folder]),
  };
}

/** Writes until no byte is free, in chunks of decreasing size. */
function fillUp(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (let size = chunkBytes; size >= 1;) {
      try {
        writeSync(handle, Buffer.alloc(size));
      } catch {
        size = Math.floor(size / 16);
      }
    }
  } finally {
    closeSync(handle);
  }
}
