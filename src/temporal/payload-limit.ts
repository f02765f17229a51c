import type { Payload, PayloadCodec } from '@temporalio/common';

/** Maximum payload size. Workflows carry ids, counts and hashes; larger data belongs in Postgres or the artifact store. */
export const payloadLimitBytes = 32 * 1024;

/** Rejects payloads above the limit before they reach a history. */
export const payloadLimit: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads.map(withinLimit)),
  decode: (payloads) => Promise.resolve(payloads),
};

function withinLimit(payload: Payload): Payload {
  const bytes = payload.data?.length ?? 0;
  if (bytes > payloadLimitBytes)
    throw new RangeError(
      `payload too large: found ${bytes} bytes, expected at most ${payloadLimitBytes}; pass an id instead`,
    );
  return payload;
}
