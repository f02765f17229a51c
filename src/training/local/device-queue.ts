import { devicesText, type Device } from '../../process/devices';
import type { DeviceLease, DeviceLeases } from './device-leases';

/** The policy server that shares devices with jobs. */
export type SharedServer = {
  /** Indices of its devices. */
  devices: readonly number[];
  /** Frees devices of the server; returns the reason if attempts use them. */
  release: (devices: readonly number[]) => Promise<string | null>;
};

type Request = { holder: string; job: string; count: number };

export type Placement = { devices: readonly number[] } | { waiting: string };

/**
 * Gives devices to jobs in the order of their requests. A job has its devices alone: it waits while they do not suffice,
 * and while attempts use the policy server on one of them. Devices that no policy server has are taken first.
 */
export const deviceQueue = (inventory: readonly Device[], leases: DeviceLeases, server: SharedServer | null) => ({
  /** Requests devices, or repeats a request. The caller starts the job, or repeats the request later. */
  async request({ holder, job, count }: Request): Promise<Placement> {
    const lease = await leases.locked(async () => {
      await leases.prune();
      const all = await leases.list();
      const others = all.filter((other) => other.job !== job);
      const since = all.find((own) => own.job === job)?.since ?? Date.now();
      const placed = place(inventory, { count, since, others, avoided: server?.devices ?? [] });
      const claim = { holder, job, since, ...placed };
      await leases.save(claim);
      return claim;
    });
    if (lease.devices.length === 0) return { waiting: lease.waiting };
    const shared = lease.devices.filter((index) => server?.devices.includes(index));
    const held = shared.length > 0 ? await server!.release(shared) : null;
    if (held === null) return { devices: lease.devices };
    const waiting = `waits for ${devicesText(shared.length)} of the policy server, held by ${held}`;
    await leases.save({ ...lease, waiting });
    return { waiting };
  },
});

type Situation = { count: number; since: number; others: readonly DeviceLease[]; avoided: readonly number[] };

/** Chooses free devices, or explains which jobs hold them. Older requests are served first. */
function place(
  inventory: readonly Device[],
  { count, since, others, avoided }: Situation,
): { devices: number[]; waiting: string } {
  const taken = new Set(others.flatMap(({ devices }) => devices));
  const free = inventory.map(({ index }) => index).filter((index) => !taken.has(index));
  const older = others.filter((other) => other.devices.length === 0 && other.since < since);
  if (free.length >= count && older.length === 0) {
    const order = free.toSorted((a, b) => Number(avoided.includes(a)) - Number(avoided.includes(b)) || a - b);
    return { devices: order.slice(0, count), waiting: 'waits for the policy server' };
  }
  const holders = others.filter(({ devices }) => devices.length > 0).map(({ holder }) => holder);
  const behind = older.length > 0 ? `; behind ${older.map(({ holder }) => holder).join(', ')}` : '';
  return {
    devices: [],
    waiting: `waits for ${devicesText(count)}, held by ${holders.join(', ') || 'no job'}${behind}`,
  };
}
