import { RequestError } from './problem';

/** `burst` requests at once, then `perSecond`. */
export type RateLimit = { burst: number; perSecond: number };

/** Keys that are remembered; a new one beyond replaces the oldest. */
const maxKeys = 10_000;

/** Returns a function that counts a request of a key and throws RequestError 429 when it comes too early. */
export function rateLimit({ burst, perSecond }: RateLimit): (key: string) => void {
  const buckets = new Map<string, { left: number; at: number }>();
  return (key) => {
    const now = performance.now();
    const last = buckets.get(key) ?? { left: burst, at: now };
    const left = Math.min(burst, last.left + ((now - last.at) / 1000) * perSecond);
    buckets.delete(key); // the newest keys are the last ones
    if (buckets.size >= maxKeys) buckets.delete(buckets.keys().next().value!);
    buckets.set(key, { left: Math.max(0, left - 1), at: now });
    if (left >= 1) return;
    const seconds = Math.ceil((1 - left) / perSecond);
    throw new RequestError(429, {
      code: 'TooManyRequests',
      error: `too many requests: ${burst} at once, then ${perSecond} a second; wait ${seconds} s`,
      expected: `${perSecond} a second`,
      retryAfter: seconds,
    });
  };
}
