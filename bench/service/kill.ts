import { setTimeout as sleep } from 'node:timers/promises';
import type { PlayRecord, SleepingServers } from './sleeping-servers';
import type { System } from './systems/system';

/** Cost of a kill. Times are seconds from the kill, and null if it never happens. */
export type Kill = {
  /** Until any attempt begins. */
  begins: number | null;
  /** Until an attempt has ended that began after the kill. */
  ends: number | null;
  /** Until every attempt that the kill interrupted has begun again. */
  resumed: number | null;
  /** Attempts without a stored result. */
  lost: number;
  /** Results beyond one of each attempt. */
  twice: number;
  /** Requests to the policy beyond one of each turn; null if the rollout has no end. */
  requestsAgain: number | null;
};

/** Plays attempts and kills the process that plays after a third of them. */
export async function playWithKill(
  system: System,
  servers: SleepingServers,
  { attempts, turns }: { attempts: number; turns: number },
): Promise<Kill & { seconds: number | null }> {
  const record = servers.record();
  const playing = system.play(attempts).catch((error: unknown) => {
    if (!system.isVolatile) throw error;
  });
  const isUnderWay = async (): Promise<void> => {
    while (record.sessions.filter(({ endedAt }) => endedAt).length < attempts / 3) await sleep(2);
  };
  await Promise.race([playing, isUnderWay()]);
  const killedAt = performance.now();
  await system.kill();
  const outcome = await playing;
  const { rows, attempts: stored } = outcome?.results ?? { rows: 0, attempts: 0 };
  return {
    seconds: outcome?.seconds ?? null,
    ...timesAfter(record, killedAt),
    lost: attempts - stored,
    twice: rows - stored,
    requestsAgain: outcome ? record.requests - attempts * turns : null,
  };
}

function timesAfter({ sessions }: PlayRecord, killedAt: number): Pick<Kill, 'begins' | 'ends' | 'resumed'> {
  const later = sessions.filter(({ beganAt }) => beganAt > killedAt);
  // Other workers end their attempts after the kill; an interrupted session never ends.
  const interrupted = sessions.filter(({ beganAt, endedAt }) => beganAt <= killedAt && endedAt === undefined);
  const againAt = (task: number): number => later.find((session) => session.task === task)?.beganAt ?? Infinity;
  const after = (time: number): number | null => (Number.isFinite(time) ? (time - killedAt) / 1000 : null);
  return {
    begins: after(Math.min(...later.map(({ beganAt }) => beganAt))),
    ends: after(Math.min(...later.map(({ endedAt = Infinity }) => endedAt))),
    resumed: after(Math.max(killedAt, ...interrupted.map(({ task }) => againAt(task)))),
  };
}
