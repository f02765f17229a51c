import type { Payload, PayloadCodec } from '@temporalio/common';

/** Bytes. Workflows carry ids, counts and hashes; whatever is larger belongs into Postgres or the artifact store. */
export const payloadLimitBytes = 32 * 1024;

/** Refuses what is too large to be an id, before it reaches a history. */
export const payloadLimit: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads.map(withinLimit)),
  decode: (payloads) => Promise.resolve(payloads),
};

function withinLimit(payload: Payload): Payload {
  const bytes = payload.data?.length ?? 0;
  if (bytes > payloadLimitBytes)
    throw new RangeError(
      `a payload of ${bytes} bytes; workflows carry at most ${payloadLimitBytes}: pass an id instead`,
    );
  return payload;
}
