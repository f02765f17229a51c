import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Returns the addresses on which a process listens for TCP, as Linux prints them in /proc/net. */
export const listeningAddresses = (pid: number): string[] => listeners(pid).map(([address = '']) => address);

/** Returns the ports on which a process listens for TCP. */
export const listeningPorts = (pid: number): number[] =>
  listeners(pid).map(([, port = '']) => Number.parseInt(port, 16));

function listeners(pid: number): string[][] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1] ?? [];
      } catch {
        return []; // closed meanwhile
      }
    }),
  );
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === listening && sockets.has(inode ?? ''))
    .map(([, address = '']) => address.split(':'));
}

const listening = '0A';

/** 127.0.0.1, also as an IPv6 address, and ::1. */
export const loopback: readonly string[] = [
  '0100007F',
  '0000000000000000FFFF00000100007F',
  '00000000000000000000000001000000',
];
