/**
 * Ends the sessions that a holder still has on an environment server. A courtesy: it never fails, because a session
 * whose client is gone ends by itself, and a server of others need not know leases.
 *
 * @returns how many sessions were ended; undefined where the server did not say
 */
export async function closeLeases(
  { url, token }: { url: string; token?: string | undefined },
  holder: string,
): Promise<number | undefined> {
  try {
    const response = await fetch(`${url}/leases/close`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify({ holder }),
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    const answer: unknown = await response.json();
    return response.ok ? countIn(answer) : undefined;
  } catch {
    return undefined;
  }
}

const answerTimeoutMs = 5_000;

function countIn(answer: unknown): number | undefined {
  const closed: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'closed') : undefined;
  return typeof closed === 'number' ? closed : undefined;
}
