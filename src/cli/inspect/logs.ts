import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { readCampaignLogs, type LogFilter } from '../../client/logs/campaign-logs';
import type { LogEntry } from '../../client/logs/log-entry';
import { findMissingLogs } from '../../client/logs/missing-logs';
import { withConnections, type Connections } from '../../client/connections';
import { DomainError } from '../../domain/errors';
import { hasEnded, type CampaignRow } from '../../store/campaign/campaigns';
import { asCalled } from '../output/called-name';
import { print, printJsonLine, printMessage } from '../output/output';
import { integerIn } from '../arguments/integer';
import { sinceOf } from '../arguments/since';

type Options = LogFilter & { follow?: boolean; json?: boolean };

const pollMs = 500;

/** `coevolve logs <campaign>`: the lines of all logs that concern a campaign, in the order of their times. */
export function addLogs(program: Command): void {
  program
    .command('logs <campaign>')
    .description('print the log lines of a campaign and its training jobs')
    .option('--follow', 'print new lines until the campaign ends')
    .option('--since <time>', 'start: 30s, 10m, 2h, 3d ago, or ISO 8601', sinceOf)
    .option('--iteration <number>', 'only lines of this iteration', integerIn(0, 32_767))
    .option('--job <iteration/role>', 'only a training job, such as 1/target', jobOf)
    .option('--json', 'print one JSON object per line')
    .action((name: string, options: Options) =>
      withConnections(async (connections) => {
        const row = await findCampaign(connections, name);
        const missing = row ? await findMissingLogs(connections, row) : [];
        for (const { what, next } of missing) printMessage(`${what}\n  next: ${asCalled(next)}`);
        await printLogs(connections, { name, id: row?.id ?? null }, options);
      }),
    );
}

/** Returns undefined while the database is unavailable: logs help most at that time. */
async function findCampaign({ store }: Connections, name: string): Promise<CampaignRow | undefined> {
  try {
    return await store.campaigns.getByName(name);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    printMessage(`the database is unavailable: ${name} is not checked, and lines that have only its id are missing`);
    return undefined;
  }
}

async function printLogs(
  connections: Connections,
  campaign: { name: string; id: number | null },
  { follow = false, json, ...filter }: Options,
): Promise<void> {
  const read = new Map<string, number>();
  for (;;) {
    const isLast = !follow || (await hasFinished(connections, campaign.name));
    for (const entry of await readCampaignLogs(connections.config, campaign, { filter, read, isLast }))
      if (json) printJsonLine(entry);
      else print(entryText(entry));
    if (isLast) return;
    await sleep(pollMs);
  }
}

const hasFinished = ({ store }: Connections, name: string): Promise<boolean> =>
  store.campaigns.find(name).then(
    (row) => row === undefined || hasEnded(row.status),
    () => false,
  );

const entryText = ({ time, source, level, text }: LogEntry): string =>
  [time, source, ...(level && level !== 'INFO' ? [level] : []), text].join(' ');

/** Accepts the id of the job's workflow too, as logs, reports and the Temporal UI show it. */
function jobOf(text: string): string {
  const [, iteration, role] = /^campaign\/[^/]+\/iteration\/(\d+)(?:\/epoch\/\d+)?\/train\/(\w+)$/.exec(text) ?? [];
  if (iteration !== undefined) return `${iteration}/${role}`;
  if (/^\d+\/\w+$/.test(text)) return text;
  throw new InvalidArgumentError('expected <iteration>/<role>, such as 1/target');
}
