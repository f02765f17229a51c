import { retry } from '../base/retry';

/** Repeats a query for up to two minutes while the database restarts or cannot be reached. @throws every other error at once */
export const retryWhileUnreachable = <T>(query: () => Promise<T>): Promise<T> =>
  retry(query, { shouldRetry: isUnreachable, timeoutMs: 120_000, firstMs: 500 });

/** Tests for SQLSTATE classes 08 (connection) and 57P (the server stops or starts), Node's codes, and the messages of pg. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^(08|57P|ECONN|EPIPE)/.test(code) || error.message.startsWith('Connection terminated');
}
