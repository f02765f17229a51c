import { inspect } from 'node:util';
import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import { campaignOfWorkflow } from '../domain/campaign/ids';

/** Logger of a worker process: writes lines of JSON to stderr, or text if that is a terminal. */
export const workerLogger = (): DefaultLogger =>
  process.stderr.isTTY
    ? new DefaultLogger('WARN')
    : new DefaultLogger('WARN', (entry) => void process.stderr.write(`${logLine(entry)}\n`));

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
