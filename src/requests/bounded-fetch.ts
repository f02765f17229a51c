import { jsonBounds, type JsonBounds } from '../input/json-bounds';

/**
 * Returns a `fetch` whose response fails while it is read: with an UnboundedJson beyond the bounds, so that no server can
 * fill the memory or block the event loop, and with a TimeoutError `timeoutMs` after the request.
 *
 * @param timeoutMs default: the caller's signal ends a slow response
 * @param send the `fetch` that it calls
 */
export const boundedFetch =
  (bounds: JsonBounds, timeoutMs?: number, send = fetch): typeof fetch =>
  async (input, init) => {
    const deadlines = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    const signal = AbortSignal.any([...(init?.signal ? [init.signal] : []), ...deadlines]);
    const response = await send(input, { ...init, signal });
    if (!response.body) return response;
    const check = jsonBounds(response.ok ? bounds : errorBounds);
    const checked = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        check(chunk); // throws: the stream fails with the error, and the connection is closed
        controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(checked), { status, statusText, headers });
  };

/** Bodies of error responses become messages. */
const errorBounds: JsonBounds = { maxBytes: 64 * 2 ** 10, maxNodes: 10_000 };
