import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

/** A running codec server; `url` is the codec endpoint for the settings of Temporal's Web UI. */
export type CodecServer = { url: string; close(): Promise<void> };

export type CodecServerOptions = {
  codec: PayloadCodec;
  /** Allowed origins: the Web UI's, such as http://127.0.0.1:8233. */
  origins: readonly string[];
  /** 0 selects a free port. */
  port: number;
};

/**
 * Decrypts and encrypts payloads for Temporal's Web UI and command line: POST `<url>/decode` and `<url>/encode` with
 * `{"payloads": [...]}` in protobuf's JSON format. It listens only on the loopback interface, and its URL contains a new
 * token for each start: anyone with the URL can read histories.
 */
export async function startCodecServer({ codec, origins, port }: CodecServerOptions): Promise<CodecServer> {
  const token = randomBytes(24).toString('base64url');
  const server = createServer((request, response) => {
    answer(request, { codec, origins, token })
      .catch((error: unknown) => refusal(500, error instanceof Error ? error.message : String(error)))
      .then((reply) => send(response, reply, corsOf(request, origins)))
      .catch(() => response.destroy());
  });
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${token}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Reply = { status: number; body?: object };
type Rules = Pick<CodecServerOptions, 'codec' | 'origins'> & { token: string };

const refusal = (status: number, message: string): Reply => ({ status, body: { message } });

async function answer(request: IncomingMessage, { codec, origins, token }: Rules): Promise<Reply> {
  const { origin } = request.headers;
  if (origin !== undefined && !origins.includes(origin)) return refusal(403, `origin ${origin} is not allowed`);
  const [, sentToken = '', verb = '', ...rest] = new URL(request.url ?? '/', 'http://localhost').pathname.split('/');
  // A preflight request needs no token, because its answer contains no data.
  if (request.method === 'OPTIONS') return { status: 204 };
  if (!isSame(sentToken, token))
    return refusal(401, 'the URL has no valid token; `coevolve codec serve` prints the whole URL');
  if (rest.length > 0 || (verb !== 'decode' && verb !== 'encode')) return refusal(404, 'expected /decode or /encode');
  if (request.method !== 'POST') return refusal(405, 'expected POST');
  const body = await readPayloads(request);
  if ('problem' in body) return refusal(400, body.problem);
  const payloads = verb === 'decode' ? await codec.decode(body.payloads) : await codec.encode(body.payloads);
  return { status: 200, body: { payloads: payloads.map(toJson) } };
}

const isSame = (given: string, token: string): boolean =>
  given.length === token.length && timingSafeEqual(Buffer.from(given), Buffer.from(token));

const bytes = z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64')));
const payloadsBody = z.object({
  payloads: z.array(z.object({ metadata: z.record(z.string(), bytes).default({}), data: bytes.optional() })),
});

/** Larger than one page of a history, which the UI requests at once. */
const bodyLimitBytes = 32 * 1024 * 1024;

async function readPayloads(request: IncomingMessage): Promise<{ payloads: Payload[] } | { problem: string }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimitBytes) return { problem: `expected at most ${bodyLimitBytes} bytes` };
    chunks.push(chunk);
  }
  try {
    const { payloads } = payloadsBody.parse(JSON.parse(Buffer.concat(chunks).toString()));
    return { payloads: payloads.map(({ metadata, data }) => ({ metadata, ...(data ? { data } : {}) })) };
  } catch {
    return { problem: 'expected {"payloads": [{"metadata": {"<name>": "<base64>"}, "data": "<base64>"}, ...]}' };
  }
}

const toJson = ({ metadata, data }: Payload): object => ({
  metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
  ...(data ? { data: base64(data) } : {}),
});

const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');

function corsOf({ headers: { origin } }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  if (!origin || !origins.includes(origin)) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'authorization, authorization-extras, content-type, x-namespace',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-max-age': '600',
    vary: 'origin',
  };
}

function send(response: ServerResponse, { status, body }: Reply, headers: Record<string, string>): void {
  response.writeHead(status, { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) });
  response.end(body && JSON.stringify(body));
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, resolve);
  });
}
