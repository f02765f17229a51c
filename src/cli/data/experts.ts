import { UsageError, required } from '../../errors/errors';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { expertFormats, expertRow, type ExpertFormat } from '../../envs/experts/expert-rows';
import {
  playReferenceActions,
  type ReferenceRequest,
  type ReferenceTrajectory,
} from '../../envs/experts/reference-trajectories';
import type { Progress } from '../../envs/contract/environment-error';
import { measureExperts } from '../../envs/experts/measure-experts';
import { actionForms } from '../../domain/rollout/action-form';
import { addExpertsImport } from './experts-import';
import { expertsTable } from './experts-table';
import { integerIn } from '../arguments/integer';
import { jsonObject } from '../arguments/json-object';
import { printMessage, printOver, printResult } from '../output/output';
import { currentConfig } from '../../client/connections';

type Flags = ReferenceRequest & { json?: true };

/** `coevolve experts show|export|import` */
export function addExperts(program: Command): void {
  const experts = program.command('experts').description("show, export and import experts' trajectories");
  withDraw(experts.command('show <environment>'))
    .description('play reference actions of tasks; print lengths and rewards')
    .option('--json', 'print the table as JSON')
    .action(async (environment: string, { json, ...flags }: Flags) => {
      const played = await play(environment, flags);
      const table = measureExperts(played);
      printResult(json, { environment, form: flags.form, split: flags.split, table }, () => expertsTable(table));
    });
  withDraw(experts.command('export <environment> <file>'))
    .description('play reference actions and write conversations as JSON lines')
    .addOption(
      new Option('--format <format>', 'TRL messages, or conversations of ShareGPT or ETO')
        .choices(expertFormats)
        .default('trl'),
    )
    .option('--json', 'print the result as JSON')
    .action(async (environment: string, file: string, { json, format, ...flags }: Flags & { format: ExpertFormat }) => {
      const played = await play(environment, flags);
      const output = resolve(file);
      await writeAtomically(output, played.map((trajectory) => `${expertRow(trajectory, format)}\n`).join(''));
      const written = { environment, format, form: flags.form, rows: played.length, output };
      printResult(json, written, () => `${written.rows} trajectories: ${output}`);
    });
  addExpertsImport(experts);
}

function withDraw(command: Command): Command {
  return command
    .addOption(new Option('--split <split>', 'split of the tasks').choices(['train', 'held-out']).default('train'))
    .option('--count <tasks>', 'maximum number of tasks', integerIn(1, 20_000), 100)
    .option('--seed <number>', 'seed of the draw', integerIn(0, 2 ** 31 - 1), 1)
    .option('--options <json>', 'environment options, as in a spec', jsonObject, {})
    .addOption(
      new Option('--form <form>', 'bare actions, or "Action: ..." lines').choices(actionForms).default('plain'),
    );
}

async function play(environment: string, request: ReferenceRequest): Promise<ReferenceTrajectory[]> {
  const { environment: server } = currentConfig();
  const url = required(server.url, 'environment server', 'COEVOLVE_ENVIRONMENT_URL');
  const onProgress = (done: number, drawn?: Progress): void =>
    printOver(drawn ? `${drawn.ready}/${drawn.count} tasks drawn` : `${done} played`);
  const played = await playReferenceActions({ url, token: server.token }, environment, request, { onProgress });
  if (process.stderr.isTTY) printMessage('');
  if (played.length === 0) throw new UsageError(`${environment} has no ${request.split} tasks for these options`);
  return played;
}
