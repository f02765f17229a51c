import { createHash } from 'node:crypto';

/** Returns two numbers, each uniform in [0, 1), equal for equal texts. */
export function hashToUniform(text: string): [number, number] {
  const digest = createHash('sha256').update(text).digest();
  return [digest.readUInt32BE(0) / 2 ** 32, digest.readUInt32BE(4) / 2 ** 32];
}
