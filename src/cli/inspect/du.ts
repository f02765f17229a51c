import type { Command } from 'commander';
import { garbageDays } from '../../client/collect-garbage';
import { readDiskUsage, type CampaignUsage, type DiskUsage } from '../../client/disk-usage';
import { withConnections } from '../../client/connections';
import { byteSize } from '../../tables/formats';
import { printMessage, printResult, table } from '../output/output';

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
  const header = ['campaign', 'status', 'database', 'jobs', 'policies', 'datasets', 'report', 'total', 'shared'];
  const rows = campaigns.map(({ artifacts, ...c }) => [
    c.name,
    c.status,
    sizeCell(c.databaseBytes),
    sizeCell(artifacts.jobs),
    sizeCell(artifacts.policies),
    sizeCell(artifacts.datasets),
    sizeCell(artifacts.reports),
    sizeCell(c.bytes),
    sizeCell(c.sharedBytes),
  ]);
  return [
    ...(campaigns.length > 0 ? [table(header, rows)] : []),
    ...(withTables ? [tablesText(campaigns)] : []),
    table(
      ['folder', 'size'],
      folders.map(({ path, bytes }) => [path, bytes === null ? 'not readable' : byteSize(bytes)]),
    ),
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

const tablesText = (campaigns: readonly CampaignUsage[]): string =>
  table(
    ['campaign', 'table', 'size'],
    campaigns.flatMap(({ name, tables }) => Object.entries(tables).map(([key, bytes]) => [name, key, byteSize(bytes)])),
  );

const sizeCell = (bytes: number): string => (bytes === 0 ? '-' : byteSize(bytes));

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
