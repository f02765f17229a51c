import { UsageError } from '../../errors/errors';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { agentRoles, type AgentRole } from '../../domain/roles';
import { counted } from '../../domain/formats';
import { exportAtif } from '../../exports/export-atif';
import { exportFolder, folderFormats, type FolderFormat } from '../../exports/export-folder';
import { codeVersion } from '../../process/code-version';
import { exportDataset, exportFormats, type ExportFormat } from '../../training/data/export-dataset';
import { printMessage, printResult } from '../output/output';
import { withConnections, type Connections } from '../../client/connections';

const formats = [...exportFormats, 'atif', ...folderFormats] as const;
type Format = (typeof formats)[number];

type Options = { format: Format; output?: string; role?: AgentRole; iteration?: string; json?: boolean };

/** `coevolve export <campaign>`: writes the datasets of its training runs, its attempts, or all of its tables. */
export function addExport(program: Command): void {
  program
    .command('export <campaign>')
    .description("write a campaign's training data, attempts or tables")
    .addOption(
      new Option(
        '--format <format>',
        'trl-sft: demonstrations; trl-dpo: preference pairs; atif: attempts; parquet: all tables; inspect: evaluations; ' +
          'hub: a data set of the Hugging Face hub',
      )
        .choices(formats)
        .default('trl-sft'),
    )
    .option(
      '--output <path>',
      'a file, which is replaced if it exists (default: <campaign>.<format>.jsonl); for parquet, inspect and hub a new ' +
        'folder (default: <campaign>.<format>)',
    )
    .addOption(new Option('--role <role>', 'agent role of trl-sft and trl-dpo (default: target)').choices(agentRoles))
    .option('--iteration <number>', 'only this iteration (default: all); not for parquet and hub')
    .option('--json', 'print the result as JSON')
    .action((campaign: string, options: Options) =>
      withConnections((connections) => {
        if (isOneOf(exportFormats, options.format)) return exportExamples(connections, campaign, options);
        if (options.role !== undefined)
          throw new UsageError(`--role: found with --format ${options.format}, expected with trl-sft or trl-dpo`);
        return isOneOf(folderFormats, options.format)
          ? exportTables(connections, campaign, options)
          : exportAttempts(connections, campaign, options);
      }),
    );
}

async function exportExamples({ store, pool }: Connections, campaign: string, options: Options): Promise<void> {
  const format = options.format as ExportFormat;
  const exported = await exportDataset(store, pool, {
    campaign,
    format,
    role: options.role ?? 'target',
    output: outputFile(campaign, options),
    iteration: iterationFrom(options.iteration),
  });
  if (format === 'trl-dpo')
    printMessage(
      "TRL's loss counts the tokens of observations, ours does not; rows with `observations` 0 have equal losses",
    );
  printFile(options, exported);
}

async function exportAttempts({ store, pool, config }: Connections, campaign: string, options: Options): Promise<void> {
  const { package: version } = await codeVersion(config.projectRoot);
  const request = { campaign, iteration: iterationFrom(options.iteration), version };
  printFile(options, await exportAtif(store, pool, { ...request, output: outputFile(campaign, options) }));
}

async function exportTables(connections: Connections, campaign: string, options: Options): Promise<void> {
  const format = options.format as FolderFormat;
  if (format !== 'inspect' && options.iteration !== undefined)
    throw new UsageError(
      `--iteration: found with --format ${format}, expected with another format than parquet and hub`,
    );
  const exported = await exportFolder(connections, {
    campaign,
    format,
    iteration: iterationFrom(options.iteration),
    output: resolve(options.output ?? `${campaign}.${format}`),
  });
  const rows = exported.files.reduce((sum, file) => sum + file.rows, 0);
  printResult(
    options.json,
    exported,
    () => `${counted(rows, 'row')}, ${counted(exported.files.length, 'file')}: ${exported.output}`,
  );
}

const outputFile = (campaign: string, { format, output }: Options): string =>
  resolve(output ?? `${campaign}.${format}.jsonl`);

const printFile = ({ json }: Options, exported: { rows: number; bytes: number; output: string }): void =>
  printResult(json, exported, () => `${exported.rows} rows, ${exported.bytes} bytes: ${exported.output}`);

const isOneOf = <T extends string>(values: readonly T[], value: string): value is T =>
  (values as readonly string[]).includes(value);

function iterationFrom(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new UsageError(
    `--iteration: found "${text}", expected an integer >= 0; \`coevolve status <campaign>\` shows the iterations`,
  );
}
