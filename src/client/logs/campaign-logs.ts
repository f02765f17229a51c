import { readdir, open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../config';
import { entryOf, type LogEntry, type LoggedCampaign, type LogSource } from './log-entry';

export type LogFilter = {
  /** Time from which entries are read, by default from the first. */
  since?: Date;
  iteration?: number;
  /** A training job: `<iteration>/<role>`; entries of other sources are left out. */
  job?: string;
};

/**
 * Returns the entries of a campaign that were logged since the last call with the same `read`, in the order of their
 * times. It reads the logs of this machine's processes and of the training jobs in the artifacts' folder.
 *
 * @param isLast also returns a last line without a line break
 */
export async function readCampaignLogs(
  { home, artifacts }: Pick<Config, 'home' | 'artifacts'>,
  campaign: LoggedCampaign,
  { filter, read, isLast }: { filter: LogFilter; read: ReadFiles; isLast: boolean },
): Promise<LogEntry[]> {
  const sources = [
    ...(filter.job === undefined ? await processLogs(path.join(home, 'logs')) : []),
    ...(await jobLogs(path.join(artifacts, 'jobs', 'campaign', campaign.name, 'iteration'))),
  ].filter(({ job }) => filter.job === undefined || job === filter.job);
  const entries: LogEntry[] = [];
  for (const source of sources) {
    let time: string | null = null;
    await readNewLines(source.file, read, { since: filter.since, isLast }, (line, changedAt) => {
      const entry = entryOf(line, source, campaign);
      time = entry?.time ?? time;
      if (entry?.isOfCampaign) entries.push({ ...entry.entry, time: time ?? changedAt.toISOString() });
    });
  }
  return entries
    .filter((entry) => isWanted(entry, filter))
    .sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time));
}

const isWanted = ({ time, iteration }: LogEntry, filter: LogFilter): boolean =>
  (!filter.since || time >= filter.since.toISOString()) &&
  (filter.iteration === undefined || iteration === filter.iteration);

/** Logs of the services; a full log is renamed to `.log.1` at the next start. */
async function processLogs(folder: string): Promise<LogSource[]> {
  const names = (await namesIn(folder)).filter((name) => /\.log(\.1)?$/.test(name));
  return names.map((name) => ({
    file: path.join(folder, name),
    name: name.replace(/\.log(\.1)?$/, ''),
    iteration: null,
    job: null,
  }));
}

/** Logs of the jobs in `<iteration>/train/<role>`: the output of the trainer's processes, and its events. */
async function jobLogs(folder: string): Promise<LogSource[]> {
  const sources: LogSource[] = [];
  for (const iteration of await namesIn(folder))
    for (const role of await namesIn(path.join(folder, iteration, 'train'))) {
      const job = path.join(folder, iteration, 'train', role);
      const outputs = (await namesIn(path.join(job, 'logs'))).map((name) => path.join('logs', name));
      for (const file of ['progress.jsonl', ...outputs])
        sources.push({
          file: path.join(job, file),
          name: `train ${iteration}/${role}`,
          iteration: Number(iteration),
          job: `${iteration}/${role}`,
        });
    }
  return sources;
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** The read part of each file, by device and inode: a log keeps it when it is renamed. */
type ReadFiles = Map<string, number>;

type Reading = {
  /** Files that did not change since this time are left out. */
  since: Date | undefined;
  /** Whether a last line without a line break is complete. */
  isLast: boolean;
};

const chunkBytes = 1 << 20;

/**
 * Calls `onLine` with each line that was appended to a file since the last call, and with the time of the file's last
 * change. A file that does not exist has no lines.
 */
async function readNewLines(
  file: string,
  read: ReadFiles,
  { since, isLast }: Reading,
  onLine: (line: string, changedAt: Date) => void,
): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() || (since && found.mtime < since)) return;
  const { size, mtime } = found;
  const key = `${found.dev}/${found.ino}`;
  const before = read.get(key) ?? 0;
  if (before === size) return;
  let position = before < size ? before : 0; // was truncated
  const opened = await open(file).catch(() => undefined);
  if (!opened) return;
  try {
    let rest = Buffer.alloc(0);
    while (position < size) {
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(0x0a) + 1;
      for (const line of bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1)) onLine(line, mtime);
      rest = bytes.subarray(end);
    }
    if (isLast && rest.length > 0) onLine(rest.toString('utf8'), mtime);
    read.set(key, isLast ? position : position - rest.length);
  } finally {
    await opened.close();
  }
}
