import { Option, type Command } from 'commander';
import { UsageError } from '../../errors/errors';
import { currentConfig } from '../../client/connections';
import { createEnvironments } from '../../envs/environments';
import { readProviders } from '../../llm/providers';
import { caseSpec } from '../../prompt-eval/case-spec';
import { caseEnvironment, promptCases } from '../../prompt-eval/cases';
import { evaluatePrompts, type PromptEvaluation } from '../../prompt-eval/evaluate-prompts';
import type { Yield } from '../../prompt-eval/stage-yields';
import { readChange } from '../../specification/read-change';
import type { SpecChange } from '../../specification/spec-layers';
import { count, counted, interval, rate } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { type Column, number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Flags = { provider: string; model: string; set: string[]; case?: string[]; json?: boolean };

/** `coevolve prompts eval`: plays the fixed cases with a model; exit code 0 whatever the yields. */
export function addPromptsEval(prompts: Command): void {
  prompts
    .command('eval')
    .description('play fixed cases with a model and print the yield of each stage')
    .requiredOption('--provider <name>', 'provider in the file of COEVOLVE_LLM_PROVIDERS')
    .requiredOption('--model <name>', "the provider's name of the model, for every purpose")
    .option('--set <change...>', 'spec settings, such as llm.models.explorer.temperature=null', [])
    .addOption(new Option('--case <name...>', 'only these cases').choices(promptCases.map(({ name }) => name)))
    .option('--json', 'print yields, cases and candidates as JSON')
    .action(async (flags: Flags, command: Command) => {
      const { provider, model } = flags;
      const config = currentConfig();
      const evaluation = await evaluatePrompts({
        environments: environmentsOf(createEnvironments(config)),
        providers: readProviders(config),
        spec: caseSpec(provider, model, flags.set.map(changeOf)),
        cases: promptCases.filter(({ name }) => flags.case?.includes(name) ?? true),
        onPlayed: (name) => printMessage(`${name}: played`),
      });
      const { json } = command.optsWithGlobals<Flags>(); // `prompts` has the same option, and takes it first
      printResult(json, { provider, model, ...evaluation }, () =>
        evaluationText(evaluation, `${model} of ${provider}`),
      );
    });
}

const environmentsOf = ({ data, open }: ReturnType<typeof createEnvironments>) => ({
  environmentData: data,
  openEnvironment: open,
});

/** @throws UsageError */
function changeOf(input: string): SpecChange {
  const change = readChange(input);
  if ('problem' in change) throw new UsageError(change.problem);
  return change;
}

function evaluationText(evaluation: PromptEvaluation, model: string): string {
  const { stages, admitted, knownVerdicts, reasons, purposes, cases } = evaluation;
  return [
    `${counted(cases.length, 'case')} of ${caseEnvironment.name} with ${model}`,
    '',
    terminalTable(
      [...stages, { stage: 'all of those wanted', ...admitted }],
      [text('stage', ({ stage }) => stage), ...yieldColumns],
    ),
    ...(reasons.length === 0
      ? []
      : [
          '',
          terminalTable(reasons, [
            text('lost at', (row) => row.stage),
            text('reason', (row) => row.reason),
            number('candidates', (row) => row.count),
          ]),
        ]),
    '',
    terminalTable(purposes, [
      text('answers of the', ({ purpose }) => purpose),
      ...yieldColumns,
      ...properties('calls', 'promptTokens'),
      number('answer tokens', (row) => row.completionTokens),
      number('seconds', (row) => row.seconds, count),
    ]),
    '',
    terminalTable([knownVerdicts], [text('the judge at', () => 'attempts with a known result'), ...yieldColumns]),
  ].join('\n');
}

const yieldColumns: Column<Yield>[] = [
  ...properties('passed', 'of'),
  number('yield', (found) => found.share, rate),
  number('interval', (found) => interval(found.low, found.high)),
];
