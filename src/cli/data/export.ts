import { UsageError } from '../../errors/errors';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { agentRoles, type AgentRole } from '../../domain/roles';
import { exportDataset, exportFormats, type ExportFormat } from '../../training/data/export-dataset';
import { printMessage, printResult } from '../output/output';
import { withConnections } from '../../client/connections';

type Options = { format: ExportFormat; output?: string; role: AgentRole; iteration?: string; json?: boolean };

/** `coevolve export <campaign>`: writes the datasets of its training runs in TRL's formats. */
export function addExport(program: Command): void {
  program
    .command('export <campaign>')
    .description("write a campaign's training data as JSON lines for TRL")
    .addOption(
      new Option('--format <format>', 'demonstrations (trl-sft) or preference pairs (trl-dpo)')
        .choices(exportFormats)
        .default('trl-sft'),
    )
    .option('--output <file>', 'output file; an existing file is replaced (default: <campaign>.<format>.jsonl)')
    .addOption(new Option('--role <role>', 'agent role').choices(agentRoles).default('target'))
    .option('--iteration <number>', 'only this iteration (default: all)')
    .option('--json', 'print the result as JSON')
    .action((campaign: string, { format, output, role, iteration, json }: Options) =>
      withConnections(async ({ pool, store }) => {
        const exported = await exportDataset(store, pool, {
          campaign,
          format,
          role,
          output: resolve(output ?? `${campaign}.${format}.jsonl`),
          iteration: iterationFrom(iteration),
        });
        if (format === 'trl-dpo')
          printMessage(
            "TRL's loss counts the tokens of observations, ours does not; rows with `observations` 0 have equal losses",
          );
        printResult(json, exported, () => `${exported.rows} rows, ${exported.bytes} bytes: ${exported.output}`);
      }),
    );
}

function iterationFrom(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new UsageError(
    `--iteration: found "${text}", expected an integer >= 0; \`coevolve status <campaign>\` shows the iterations`,
  );
}
