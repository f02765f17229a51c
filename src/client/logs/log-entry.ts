import { jobProgress, progressLine } from '../../domain/training/job-progress';

/** An entry of a log, or a line of a process's output. */
export type LogEntry = {
  /** ISO 8601, UTC. A line without a timestamp gets the previous line's; the first one gets the file's. */
  time: string;
  /** Process, or training job, such as `train 1/target`. */
  source: string;
  level: string | null;
  iteration: number | null;
  /** Training job: `<iteration>/<role>`. */
  job: string | null;
  text: string;
  /** The other fields of the entry. */
  details: Record<string, unknown>;
};

export type LogSource = Pick<LogEntry, 'iteration' | 'job'> & { file: string; name: string };

export type LoggedCampaign = {
  name: string;
  /** Null while the database is unavailable: lines of the environment server, which have only the id, are left out. */
  id: number | null;
};

type ReadLine = { time: string | null; isOfCampaign: boolean; entry: Omit<LogEntry, 'time'> };

/** Parses a line of a source; undefined for an empty line. */
export function entryOf(line: string, source: LogSource, campaign: LoggedCampaign): ReadLine | undefined {
  if (line.trim() === '') return undefined;
  const fields = fieldsOf(line);
  if (!fields) return plainLine(line, source, campaign);
  const { time, level, message, event, error, campaign: owner, ...details } = fields;
  const text =
    typeof event === 'string' ? eventText(event, { error, ...details }) : workerMessage(message, error, details);
  return {
    time: timeOf(time),
    isOfCampaign: source.job !== null || owner === campaign.name,
    entry: {
      source: source.name,
      level: typeof level === 'string' ? level : null,
      iteration: source.iteration ?? iterationOf(details['workflowId']),
      job: source.job,
      text,
      details: { ...(error === undefined ? {} : { error }), ...details },
    },
  };
}

function plainLine(line: string, source: LogSource, campaign: LoggedCampaign): ReadLine {
  const [, time, rest = line] = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (.*)$/.exec(line) ?? [];
  const [, level] = /^(DEBUG|INFO|WARNING|ERROR|CRITICAL) /.exec(rest) ?? [];
  const { name, iteration, job } = source;
  return {
    time: timeOf(time),
    isOfCampaign: job !== null || mentions(line, name === 'environment-server' ? campaign.id : campaign.name),
    entry: { source: name, level: level ?? null, iteration, job, text: rest, details: {} },
  };
}

/** The environment server's log has the ids of campaigns, the other ones have names. */
const mentions = (line: string, campaign: string | number | null): boolean =>
  campaign !== null && line.split(/[^\w/-]/).some((word) => `${word}/`.startsWith(`campaign/${campaign}/`));

function fieldsOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function timeOf(time: unknown): string | null {
  const parsed = typeof time === 'string' ? new Date(time) : new Date(NaN);
  return Number.isNaN(parsed.getTime()) ? null : parsed.toISOString();
}

function iterationOf(workflowId: unknown): number | null {
  const [, iteration] = typeof workflowId === 'string' ? (/\/iteration\/(\d+)/.exec(workflowId) ?? []) : [];
  return iteration === undefined ? null : Number(iteration);
}

/** The message of a worker with its activity and the reason of the error. */
function workerMessage(
  message: unknown,
  error: unknown,
  { activityType, workflowId }: Record<string, unknown>,
): string {
  const work = [activityType, workflowId].filter((part) => typeof part === 'string').join(' of ');
  const reason = typeof error === 'string' ? reasonOf(error) : undefined;
  return [work, String(message), reason].filter(Boolean).join(': ');
}

/** The first line of an inspected error, with its innermost cause: the outer ones only say that an activity failed. */
function reasonOf(error: string): string {
  const [first = ''] = error.split('\n', 1);
  const cause = [...error.matchAll(/^\s*\[cause\]: (.+)$/gm)].at(-1)?.[1];
  return [first, ...(cause === undefined ? [] : [cause])].map(bare).join('; cause: ');
}

/** Without the brackets of an error that has no stack, and its properties. */
const bare = (line: string): string => line.replace(/^\[(.*)\](?: \{.*)?$/, '$1').replace(/ \{$/, '');

/** An event of a trainer: an update as one line of progress, another one with its fields. */
function eventText(event: string, fields: Record<string, unknown>): string {
  const numbers = Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
  if (event === 'step' && numbers['step'] !== undefined) {
    const progress = { step: numbers['step'], totalSteps: numbers['total_steps'] ?? 0 };
    return progressLine(jobProgress(progress, numbers, null));
  }
  const shown = Object.entries(fields).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return [event, ...shown.map(([key, value]) => `${key} ${String(value)}`)].join(', ').replace(', ', ': ');
}
