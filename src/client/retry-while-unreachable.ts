import { setTimeout as sleep } from 'node:timers/promises';

const [againMs, patienceMs] = [500, 120_000];

/** Asks the database, again and again for two minutes while it restarts or cannot be reached. @throws whatever else goes wrong */
export async function retryWhileUnreachable<T>(ask: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + patienceMs; ; await sleep(againMs)) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnreachable(error) || Date.now() > deadline) throw error;
    }
  }
}

/** Classes 08 (connection) and 57P (the server ends or begins) of SQLSTATE, Node's codes, and pg's own words. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^(08|57P|ECONN|EPIPE)/.test(code) || error.message.startsWith('Connection terminated');
}
