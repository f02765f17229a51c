import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import { streamSSE, type SSEStreamingApi } from 'hono/streaming';
import { messageOf } from '../../errors/errors';
import { listEventsBetween } from '../../store/reporting/settled-events';
import type { Api, ServerContext } from '../request/context';
import { word } from '../request/parameters';
import { parentId } from '../request/parents';
import { problemResponses, RequestError } from '../request/problem';
import { eventFeed, type EventFeed } from './event-feed';

const maxStreams = 100;
/** A comment after this time of silence, so that proxies keep the connection. */
const heartbeatMs = 15_000;
const eventsPerRead = 500;
/** Pause after a failed read. */
const retryMs = 250;

const eventId = z.string().regex(/^\d{1,15}$/, 'the id of an event');

const route = createRoute({
  method: 'get',
  path: '/api/v1/stream',
  operationId: 'streamEvents',
  summary:
    'events as they are stored, as server-sent events; each is sent once, in the order of ids, also after a reconnect',
  request: {
    headers: z.object({ 'last-event-id': eventId.optional() }),
    query: z.strictObject({
      campaign: word.optional().openapi({ description: 'Only events of this campaign.' }),
      after: eventId.optional().openapi({ description: 'Begin after this event; 0: with the first. Default: now.' }),
    }),
  },
  responses: {
    200: {
      description: "a stream whose `id` is the event's and whose `data` is a row Event as JSON",
      content: { 'text/event-stream': { schema: z.string() } },
    },
    ...problemResponses(400, 404),
  },
});

/** Adds `GET /api/v1/stream`. */
export function addStream(api: Api, { reader, log }: ServerContext): void {
  const feed = eventFeed(reader, log);
  let open = 0;
  api.openapi(route, async (context) => {
    const { campaign, after } = context.req.valid('query');
    const given = context.req.valid('header')['last-event-id'] ?? after;
    const campaignId = campaign === undefined ? null : await parentId(reader, 'campaign', campaign);
    if (open >= maxStreams)
      throw new RequestError(429, {
        code: 'TooManyStreams',
        error: `found ${open} open streams, expected fewer`,
        retryAfter: 10,
      });
    open += 1;
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      stream.onAbort(() => ended.abort());
      const heartbeat = setInterval(() => void stream.write(': \n\n'), heartbeatMs);
      try {
        const first = given === undefined ? await feed.newest(ended.signal) : Number(given);
        // The client continues here if it loses the connection before the first event.
        await stream.write(`retry: 1000\nid: ${first}\n\n`);
        await send(
          {
            stream,
            feed,
            signal: ended.signal,
            read: (range) => listEventsBetween(reader, { ...range, campaignId, limit: eventsPerRead }),
          },
          first,
        );
      } catch (error) {
        if (!ended.signal.aborted) log(`stream: ${messageOf(error)}`); // the client connects again
      } finally {
        clearInterval(heartbeat);
        open -= 1;
      }
    });
  });
}

type Sending = {
  stream: SSEStreamingApi;
  feed: EventFeed;
  signal: AbortSignal;
  read(range: { after: number; until: number }): Promise<{ id: number }[]>;
};

/** Sends the events after the first until the signal. A failed read is repeated: the database may have been restarted. */
async function send({ stream, feed, signal, read }: Sending, first: number): Promise<void> {
  let sent = first;
  while (!signal.aborted) {
    const until = await feed.after(sent, signal);
    const events = await read({ after: sent, until }).catch(() => null);
    if (events === null) {
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      continue;
    }
    for (const event of events) await stream.writeSSE({ id: String(event.id), data: JSON.stringify(event) });
    sent = events.length === eventsPerRead ? events.at(-1)!.id : until;
  }
}
