import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Config } from '../config';
import { messageOf, StackError } from '../errors/errors';
import { listClosed, listMirrored, listMirroredRows, mirroredConfig, type MirroredCampaign } from './mirrored-rows';
import { requireExports } from './run-exports';
import { extraOf, startTracker, type RunEnd, type Tracker, type TrackerProcess } from './tracker-process';

export type MirrorRequest = {
  tracker: Tracker;
  /** Folder of the tracker's files; it is created. */
  folder: string;
  /** Names of campaigns; empty for all. */
  campaigns: readonly string[];
  /** Ends after the rows that exist; a running campaign counts as ended. Otherwise new rows are followed. */
  once: boolean;
  /** Ends the following. */
  signal: AbortSignal;
  log: (line: string) => void;
};

/** Time between two looks at the database, so that a point is at most a second behind its row. */
const pollMs = 500;

const rowsPerMessage = 1000;

/**
 * Copies numbers of committed rows into the files of a tracker, each exactly once over kills of every process. It keeps no
 * cursor: each start sends all rows, and the tracker's process skips those that it finds in its files. While following, a failure
 * of the database or of the tracker is logged, and the mirror starts again after a second.
 *
 * @returns the number of written rows
 * @throws StackError when the tracker's packages are not installed
 */
export async function mirror(reader: Pool, root: Pick<Config, 'projectRoot'>, request: MirrorRequest): Promise<number> {
  requireExports(root, extraOf(request.tracker));
  let logged = '';
  for (;;) {
    try {
      return await runTracker(reader, root, request);
    } catch (error) {
      if (request.once || error instanceof StackError) throw error;
      if (messageOf(error) !== logged) request.log(`mirror: starts again after: ${messageOf(error)}`);
      logged = messageOf(error);
      await pause(1000, request.signal);
      if (request.signal.aborted) throw error;
    }
  }
}

async function runTracker(reader: Pool, root: Pick<Config, 'projectRoot'>, request: MirrorRequest): Promise<number> {
  const { tracker, folder, campaigns, once, signal, log } = request;
  const process = startTracker(root, tracker, folder, log);
  const ended: number[] = [];
  const closed = new Map<number, number[]>();
  try {
    for (;;) {
      for (const campaign of await listMirrored(reader, campaigns, ended)) {
        const isLast = campaign.ended || once;
        const before = closed.get(campaign.id);
        if (!before) await open(reader, process, campaign);
        // Read before the rows. All rows are sent again at the end: one of a closed iteration may have been late.
        closed.set(campaign.id, await listClosed(reader, campaign.id));
        await sendRows(reader, process, campaign, {
          except: isLast ? [] : (before ?? []),
          end: isLast ? { finished: campaign.ended } : null,
        });
        if (isLast) ended.push(campaign.id);
      }
      if (once || signal.aborted) return await process.end();
      await Promise.race([pause(pollMs, signal), process.failed]);
    }
  } catch (error) {
    process.kill();
    throw error;
  }
}

async function open(reader: Pool, process: TrackerProcess, campaign: MirroredCampaign): Promise<void> {
  const { name, createdAt: created } = campaign;
  const config = await mirroredConfig(reader, campaign.id);
  await process.send({ open: { id: runId(campaign), name, created, config } });
}

async function sendRows(
  reader: Pool,
  process: TrackerProcess,
  campaign: MirroredCampaign,
  { except, end }: { except: readonly number[]; end: RunEnd | null },
): Promise<void> {
  const id = runId(campaign);
  let rows = [];
  for await (const row of listMirroredRows(reader, campaign.id, except)) {
    rows.push(row);
    if (rows.length < rowsPerMessage) continue;
    await process.send({ id, rows, end: null });
    rows = [];
  }
  if (rows.length > 0 || end) await process.send({ id, rows, end });
}

/** Unique also where a campaign was deleted and another one got its name: `<name>-20261130-224512`. */
const runId = ({ name, createdAt }: MirroredCampaign): string =>
  `${name}-${new Date(createdAt * 1000).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
