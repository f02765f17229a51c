import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** A TCP proxy on loopback that does as it is told to the connections that go through it. */
export type FaultProxy = {
  readonly port: number;
  /** Ends every connection at once and lets none through until `mend`. */
  cut(): void;
  /** Holds every piece back for so long, both ways, until `mend`. */
  delay(ms: number): void;
  mend(): void;
  close(): Promise<void>;
};

/** @param target port of the server behind it, on loopback; it may be down, and come back */
export async function openFaultProxy(target: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let [isCut, delayMs] = [false, 0];

  const held = (): Transform =>
    new Transform({
      transform(piece, _encoding, done) {
        if (delayMs === 0) done(null, piece);
        else setTimeout(() => done(null, piece), delayMs);
      },
    });
  const keep = (socket: Socket, other: () => Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // its end is what counts
    socket.on('close', () => {
      sockets.delete(socket);
      other().destroy();
    });
  };

  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(target, '127.0.0.1');
    keep(client, () => upstream);
    keep(upstream, () => client);
    client.pipe(held()).pipe(upstream);
    upstream.pipe(held()).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const endAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      endAll();
    },
    delay(ms) {
      delayMs = ms;
    },
    mend() {
      [isCut, delayMs] = [false, 0];
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      endAll();
      await closed;
    },
  };
}
