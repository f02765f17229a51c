import { Argument, type Command } from 'commander';
import { z } from 'zod';
import { prompts } from '../../llm/prompts';
import type { Prompt } from '../../llm/prompts/prompt';
import { printResult } from '../output/output';
import { addPromptsEval } from './prompts-eval';
import { text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve prompts [name]`: prints the prompts for language models with their versions; `eval` plays them with a model. */
export function addPrompts(program: Command): void {
  const command = program
    .command('prompts')
    .description('list the prompts with their versions, or print one')
    .addArgument(new Argument('[name]').choices(prompts.map(({ name }) => name)))
    .option('--json', 'print whole prompts as JSON')
    .action((name: string | undefined, { json }: { json?: boolean }) => {
      const chosen = prompts.filter((prompt) => name === undefined || prompt.name === name);
      printResult(json, chosen.map(toJson), () =>
        name === undefined ? promptTable(chosen) : chosen.map(promptText).join('\n'),
      );
    });
  addPromptsEval(command);
}

const toJson = ({ name, version, summary, template, schema }: Prompt<never>) => ({
  name,
  version,
  summary,
  template,
  answer: schema ? z.toJSONSchema(schema) : null,
});

const promptTable = (chosen: readonly Prompt<never>[]): string =>
  terminalTable(chosen, [
    text('name', (prompt) => prompt.name),
    text('version', (prompt) => prompt.version),
    text('summary', (prompt) => prompt.summary),
  ]);

const promptText = ({ name, version, template }: Prompt<never>): string =>
  [`${name}, version ${version}`, ...template.map(({ role, content }) => `${role}:\n${content}`)].join('\n\n');
