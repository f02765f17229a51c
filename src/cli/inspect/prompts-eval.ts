import { Option, type Command } from 'commander';
import { UsageError } from '../../errors/errors';
import { currentConfig } from '../../client/connections';
import { createEnvironments } from '../../envs/environments';
import { readProviders } from '../../llm/providers';
import { caseSpec } from '../../prompt-eval/case-spec';
import { caseWorlds, promptCases } from '../../prompt-eval/cases';
import { evaluatePrompts, type PromptEvaluation } from '../../prompt-eval/evaluate-prompts';
import { playableCases, type Playable } from '../../prompt-eval/playable-cases';
import type { Yield } from '../../prompt-eval/stage-yields';
import { readChange } from '../../specification/read-change';
import type { SpecChange } from '../../specification/spec-layers';
import { count, counted, interval, rate } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { type Column, number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Flags = {
  provider: string;
  model: string;
  set: string[];
  environment?: string[];
  case?: string[];
  json?: boolean;
};

/** `coevolve prompts eval`: plays the fixed cases with a model; exit code 0 whatever the yields. */
export function addPromptsEval(prompts: Command): void {
  prompts
    .command('eval')
    .description('play fixed cases with a model and print the yield of each stage')
    .requiredOption('--provider <name>', 'provider in the file of COEVOLVE_LLM_PROVIDERS')
    .requiredOption('--model <name>', "the provider's name of the model, for every purpose")
    .option('--set <change...>', 'spec settings, such as llm.models.explorer.temperature=null', [])
    .addOption(
      new Option(
        '--environment <name...>',
        'only cases of these environments; default: of all that are hosted',
      ).choices(caseWorlds.map(({ name }) => name)),
    )
    .addOption(new Option('--case <name...>', 'only these cases').choices(promptCases.map(({ name }) => name)))
    .option('--json', 'print yields, cases and candidates as JSON')
    .action(async (flags: Flags, command: Command) => {
      const { provider, model } = flags;
      const config = currentConfig();
      const providers = readProviders(config);
      const changes = flags.set.map(changeOf);
      const environments = createEnvironments(config);
      const { cases, notPlayed } = playableCases(await environments.health.read(), flags);
      requireOneEnvironment(changes, cases);
      for (const { environment, reason } of notPlayed) printMessage(`${environment}: not played: ${reason}`);
      const evaluation = await evaluatePrompts({
        environments: { environmentData: environments.data, openEnvironment: environments.open },
        providers,
        specOf: (world) => caseSpec(world, flags, changes),
        cases,
        onPlayed: (name) => printMessage(`${name}: played`),
      });
      const { json } = command.optsWithGlobals<Flags>(); // `prompts` has the same option, and takes it first
      printResult(json, { provider, model, ...evaluation, notPlayed }, () =>
        evaluationText(evaluation, `${model} of ${provider}`),
      );
    });
}

/** Options of one environment mean nothing in another. @throws UsageError */
function requireOneEnvironment(changes: readonly SpecChange[], cases: Playable['cases']): void {
  const changed = changes.find(({ path: [section] }) => section === 'environment');
  const names = [...new Set(cases.map(({ environment }) => environment))];
  if (!changed || names.length === 1) return;
  throw new UsageError(
    `--set ${changed.path.join('.')}: found cases of ${names.join(', ')}, expected cases of one environment; add --environment ${names[0]}`,
  );
}

/** @throws UsageError */
function changeOf(input: string): SpecChange {
  const change = readChange(input);
  if ('problem' in change) throw new UsageError(change.problem);
  return change;
}

function evaluationText(evaluation: PromptEvaluation, model: string): string {
  const { stages, admitted, knownAttempts, knownVerdicts, environments, reasons, purposes, cases } = evaluation;
  return [
    `${counted(cases.length, 'case')} of ${environments.map(({ environment }) => environment).join(', ')} with ${model}`,
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
    terminalTable(
      [...knownAttempts, { attempt: 'all with a known result', ...knownVerdicts }],
      [text('right verdicts at attempts', ({ attempt }) => attempt), ...yieldColumns],
    ),
    ...(environments.length === 1 ? [] : ['', byEnvironment(environments)]),
  ].join('\n');
}

const byEnvironment = (environments: PromptEvaluation['environments']): string =>
  terminalTable(environments, [
    text('environment', ({ environment }) => environment),
    ...properties('cases'),
    number('admitted', ({ admitted }) => `${admitted.passed} of ${admitted.of}`),
    number('right verdicts', ({ knownVerdicts }) => `${knownVerdicts.passed} of ${knownVerdicts.of}`),
  ]);

const yieldColumns: Column<Yield>[] = [
  ...properties('passed', 'of'),
  number('yield', (found) => found.share, rate),
  number('interval', (found) => interval(found.low, found.high)),
];
