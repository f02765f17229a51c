import { boundedFetch } from '../../requests/bounded-fetch';
import { answerBounds } from '../../input/json-bounds';

/**
 * Ends the open sessions of a holder on an environment server. Never throws: a session without a client ends by itself,
 * and a third-party server may not support leases.
 *
 * @returns number of ended sessions; undefined if the server returned none
 */
export async function closeLeases(
  { url, token }: { url: string; token?: string | undefined },
  holder: string,
): Promise<number | undefined> {
  try {
    const response = await fetchAnswer(`${url}/leases/close`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify({ holder }),
    });
    const answer: unknown = await response.json();
    return response.ok ? countIn(answer) : undefined;
  } catch {
    return undefined;
  }
}

const fetchAnswer = boundedFetch(answerBounds, 5_000);

function countIn(answer: unknown): number | undefined {
  const closed: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'closed') : undefined;
  return typeof closed === 'number' && Number.isInteger(closed) && closed >= 0 ? closed : undefined;
}
