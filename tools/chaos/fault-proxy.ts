import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** TCP proxy on loopback that injects network faults. */
export type FaultProxy = {
  readonly port: number;
  /** Closes all connections and rejects new ones until `restore`. */
  cut(): void;
  /** Delays every chunk in both directions until `restore`. */
  delay(ms: number): void;
  restore(): void;
  close(): Promise<void>;
};

/** @param target port of the server on loopback; the server may be down */
export async function openFaultProxy(target: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let [isCut, delayMs] = [false, 0];

  const delayed = (): Transform =>
    new Transform({
      transform(chunk, _encoding, done) {
        if (delayMs === 0) done(null, chunk);
        else setTimeout(() => done(null, chunk), delayMs);
      },
    });
  const track = (socket: Socket, other: () => Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // the close event follows
    socket.on('close', () => {
      sockets.delete(socket);
      other().destroy();
    });
  };

  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(target, '127.0.0.1');
    track(client, () => upstream);
    track(upstream, () => client);
    client.pipe(delayed()).pipe(upstream);
    upstream.pipe(delayed()).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const closeAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      closeAll();
    },
    delay(ms) {
      delayMs = ms;
    },
    restore() {
      [isCut, delayMs] = [false, 0];
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      closeAll();
      await closed;
    },
  };
}
