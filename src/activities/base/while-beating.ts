import { cancellationSignal, heartbeat } from '@temporalio/activity';

const beatMs = 2_000;

/**
 * Does work that waits for others, and heartbeats meanwhile: a worker that dies is missed after the profile's heartbeat
 * timeout. Whatever the work waits for must have a limit of its own.
 */
export async function whileBeating<T>(work: (signal: AbortSignal) => Promise<T>, details?: () => unknown): Promise<T> {
  const beat = setInterval(() => heartbeat(details?.()), beatMs);
  try {
    return await work(cancellationSignal());
  } finally {
    clearInterval(beat);
  }
}
