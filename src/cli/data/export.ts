import { UsageError } from '../../base/errors';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { agentRoles, type AgentRole } from '../../domain/base/roles';
import { exportDataset, exportFormats, type ExportFormat } from '../../training/export-dataset';
import { printResult } from '../base/output';
import { withSession } from '../../client/session';

type Options = { format: ExportFormat; output: string; role: AgentRole; iteration?: string; json?: boolean };

/** `coevolve export <campaign>` writes what its training runs were trained on, for TRL's trainers. */
export function addExport(program: Command): void {
  program
    .command('export <campaign>')
    .description('write what a campaign was trained on as JSON lines that TRL trains on')
    .addOption(
      new Option('--format <format>', 'demonstrations (trl-sft) or preference pairs (trl-dpo)')
        .choices(exportFormats)
        .makeOptionMandatory(),
    )
    .requiredOption('--output <file>', 'where to write; a file that is there is replaced')
    .addOption(new Option('--role <role>', 'whose training').choices(agentRoles).default('target'))
    .option('--iteration <number>', 'only the runs of one iteration (default: all)')
    .option('--json', 'print what was written as JSON')
    .action((campaign: string, { format, output, role, iteration, json }: Options) =>
      withSession(async ({ pool, store }) => {
        const exported = await exportDataset(store, pool, {
          ...{ campaign, format, role, output: resolve(output) },
          iteration: iterationFrom(iteration),
        });
        printResult(json, exported, () => `${exported.rows} rows, ${exported.bytes} bytes: ${exported.output}`);
      }),
    );
}

function iterationFrom(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new UsageError(`--iteration: found "${text}", expected a number; \`coevolve status <campaign>\` shows them`);
}
