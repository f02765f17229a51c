import type { Command } from 'commander';
import { garbageDays } from '../../client/collect-garbage';
import { readDiskUsage, type CampaignUsage, type DiskUsage } from '../../client/disk-usage';
import { withConnections } from '../../client/connections';
import { byteSize } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { type Column, number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve du`: disk usage of campaigns and of this machine's stack. */
export function addDu(program: Command): void {
  program
    .command('du')
    .description('show the disk usage of campaigns and of the stack')
    .option('--tables', 'also show the tables of each campaign')
    .option('--json', 'print sizes in bytes as JSON')
    .action(({ tables, json }: { tables?: boolean; json?: boolean }) =>
      withConnections(async (connections) => {
        const usage = await readDiskUsage(connections);
        if (usage.problem !== null) printMessage(`the campaigns are not shown: the database: ${usage.problem}`);
        printResult(json, usage, () => usageText(usage, tables === true));
        if (!json) for (const line of remedies(usage)) printMessage(line);
      }),
    );
}

function usageText({ disk, folders, database, campaigns, unusedBytes }: DiskUsage, withTables: boolean): string {
  return [
    ...(campaigns.length > 0 ? [campaignTable(campaigns)] : []),
    ...(withTables ? [tablesText(campaigns)] : []),
    terminalTable(folders, [
      text('folder', ({ path }) => path),
      number('size', ({ bytes }) => bytes ?? 'not readable', byteSize),
    ]),
    [
      ...(database
        ? [
            `database: ${byteSize(database.bytes)}, of it ${byteSize(database.campaignBytes)} in partitions of campaigns`,
            `artifacts without rows: ${byteSize(unusedBytes)}`,
          ]
        : []),
      `disk of ${disk.folder}: ${byteSize(disk.freeBytes)} free of ${byteSize(disk.bytes)}`,
    ].join('\n'),
  ].join('\n\n');
}

const campaignTable = (campaigns: readonly CampaignUsage[]): string =>
  terminalTable(campaigns, [
    text('campaign', (c) => c.name),
    text('status', (c) => c.status),
    size('database', (c) => c.databaseBytes),
    size('jobs', (c) => c.artifacts.jobs),
    size('policies', (c) => c.artifacts.policies),
    size('datasets', (c) => c.artifacts.datasets),
    size('report', (c) => c.artifacts.reports),
    size('total', (c) => c.bytes),
    size('shared', (c) => c.sharedBytes),
  ]);

/** A column of sizes, with a dash for nothing. */
const size = (name: string, bytes: (usage: CampaignUsage) => number): Column<CampaignUsage> =>
  number(name, (usage) => bytes(usage) || null, byteSize);

const tablesText = (campaigns: readonly CampaignUsage[]): string =>
  terminalTable(
    campaigns.flatMap(({ name, tables }) => Object.entries(tables).map(([key, bytes]) => ({ name, key, bytes }))),
    [
      text('campaign', (row) => row.name),
      text('table', (row) => row.key),
      number('size', (row) => row.bytes, byteSize),
    ],
  );

/** The commands that free space, with the bytes that each frees. */
function remedies({ campaigns, garbageBytes }: DiskUsage): string[] {
  const [largest] = campaigns.filter(({ isDeletable }) => isDeletable);
  return [
    ...(garbageBytes > 0
      ? [`\`coevolve gc --yes\` frees ${byteSize(garbageBytes)}: artifacts without rows, ${garbageDays} days old`]
      : []),
    ...(largest
      ? [
          `\`coevolve delete ${largest.name} --yes\` frees ${byteSize(largest.databaseBytes + largest.artifacts.reports)}, ` +
            `then \`coevolve gc --older-than 0 --yes\` ${byteSize(largest.bytes - largest.databaseBytes - largest.artifacts.reports)}`,
        ]
      : []),
  ];
}
