import { createServer } from 'node:net';
import { StackError } from '../errors/errors';

/** The range lies below the ephemeral ports of Linux (from 32768) and macOS (from 49152). */
const firstPort = 20_000;
const portCount = 12_000;

/**
 * Returns a free loopback port that is not among the given ones.
 *
 * @throws StackError after 200 attempts
 */
export async function chooseFreePort(taken: readonly number[]): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (!taken.includes(port) && (await isPortFree(port))) return port;
  }
  throw new StackError('no free port: 200 random ports are in use', 'coevolve doctor');
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
