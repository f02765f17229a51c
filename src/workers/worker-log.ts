import { inspect } from 'node:util';
import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import { campaignOfWorkflow } from '../domain/campaign/ids';
import { forTerminal } from '../tables/terminal-text';

/** Logger of a worker process: writes lines of JSON to stderr, or text if that is a terminal. */
export const workerLogger = (): DefaultLogger => {
  const format = process.stderr.isTTY ? terminalLine : logLine;
  return new DefaultLogger('WARN', (entry) => void process.stderr.write(`${format(entry)}\n`));
};

/** Formats an entry for a terminal: messages quote other servers, so that control characters become visible escapes. */
export function terminalLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  return forTerminal([time, `[${level}]`, message, ...(meta === undefined ? [] : [inspect(meta)])].join(' '));
}

/** Identifiers of the SDK that help no reader of a log; a task token is some 300 characters long. */
const omitted = new Set(['taskToken', 'sdkComponent', 'isLocal', 'namespace', 'workflowRunId']);

/**
 * Formats an entry of a worker's log as one line of JSON. It has the campaign of its workflow, so that `coevolve logs`
 * finds it.
 */
export function logLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const workflowId: unknown = meta?.['workflowId'];
  const campaign = typeof workflowId === 'string' ? campaignOfWorkflow(workflowId) : undefined;
  const details = Object.entries(meta ?? {}).filter(([key]) => !omitted.has(key));
  return JSON.stringify({
    time: new Date(Number(timestampNanos / 1_000_000n)).toISOString(),
    level,
    message,
    ...(campaign === undefined ? {} : { campaign }),
    ...Object.fromEntries(details.map(([key, value]) => [key, isPlain(value) ? value : inspect(value)])),
  });
}

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value) || value === null;
