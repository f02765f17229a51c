import { createServer } from 'node:net';
import { StackError } from '../base/errors';

/** Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections. */
const firstPort = 20_000;
const portCount = 12_000;

/** A loopback port that nobody listens on, other than those given. */
export async function chooseFreePort(taken: readonly number[]): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (!taken.includes(port) && (await isPortFree(port))) return port;
  }
  throw new StackError('no free port was found in 200 tries', 'coevolve doctor');
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
