import { once } from 'node:events';
import { connect, constants, createSecureServer, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';

export type TlsProxy = { address: string; passed(): number; refused(): number; close(): Promise<void> };

/** Starts a proxy that terminates TLS for a plain gRPC server and forwards only calls with the API key. */
export async function startTlsProxy(
  target: string,
  { certificate: cert, key }: { certificate: string; key: string },
  apiKey: string,
): Promise<TlsProxy> {
  let backend = connectBackend();
  function connectBackend(): ClientHttp2Session {
    const session = connect(`http://${target}`);
    session.on('error', () => undefined);
    session.on('goaway', () => (backend = connectBackend())); // a gRPC server closes every connection after minutes
    return session;
  }
  const server = createSecureServer({ cert, key });
  const counts = { passed: 0, refused: 0 };
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, { ':authority': _authority, ':scheme': _scheme, ...headers }) => {
    stream.on('error', () => undefined);
    if (headers.authorization !== `Bearer ${apiKey}`) {
      counts.refused++;
      const status = { 'grpc-status': '16', 'grpc-message': 'the API key is not accepted' };
      return stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
    }
    counts.passed++;
    const upstream = backend.request(headers);
    let trailers: IncomingHttpHeaders = {};
    upstream.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    upstream.on('trailers', (received) => (trailers = received));
    upstream.on('response', (received, flags) => {
      if (stream.destroyed) return;
      const isComplete = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(received, isComplete ? { endStream: true } : { waitForTrailers: true });
      if (!isComplete) upstream.pipe(stream);
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.on('close', () => upstream.close(constants.NGHTTP2_CANCEL));
    stream.pipe(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    passed: () => counts.passed,
    refused: () => counts.refused,
    async close() {
      for (const session of sessions) session.destroy();
      backend.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
