import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { findStackProcesses } from '../../../src/process/list-processes';

export type Listener = { pid: number; program: string; address: string; port: number };

/** Returns the listening sockets of a stack's processes, from /proc of Linux. */
export function listenersOf(home: string): Listener[] {
  const bound = new Map(['/proc/net/tcp', '/proc/net/tcp6'].flatMap(listening));
  return findStackProcesses(home).flatMap(({ pid }) =>
    inodesOf(pid).flatMap((inode) => {
      const socket = bound.get(inode);
      return socket ? [{ pid, program: readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), ...socket }] : [];
    }),
  );
}

const listenState = '0A';

/** Returns inode, address and port of each listening line. Addresses are hexadecimal words in the machine's byte order. */
function listening(table: string): [string, { address: string; port: number }][] {
  const lines = readFileSync(table, 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line): [string, { address: string; port: number }][] => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const [hex = '', port = ''] = local.split(':');
    return state === listenState ? [[inode, { address: addressOf(hex), port: Number.parseInt(port, 16) }]] : [];
  });
}

function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => [...Buffer.from(word, 'hex').reverse()]);
  if (bytes.length === 4) return bytes.join('.');
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  if (isMapped) return bytes.slice(12).join('.');
  return bytes.slice(0, 15).every((byte) => byte === 0) && bytes[15] === 1 ? '::1' : Buffer.from(bytes).toString('hex');
}

function inodesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.slice(1) ?? [];
      } catch {
        return []; // closed during the listing
      }
    });
  } catch {
    return []; // exited during the listing
  }
}
