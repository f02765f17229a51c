import { Argument, type Command } from 'commander';
import { z } from 'zod';
import { prompts } from '../../llm/prompts';
import type { Prompt } from '../../llm/prompts/prompt';
import { printResult, table } from '../base/output';

/** `coevolve prompts [name]` shows what language models are asked, and in which version. */
export function addPrompts(program: Command): void {
  program
    .command('prompts')
    .description('list the prompts with their versions, or print one')
    .addArgument(new Argument('[name]').choices(prompts.map(({ name }) => name)))
    .option('--json', 'print them whole, as JSON')
    .action((name: string | undefined, { json }: { json?: boolean }) => {
      const chosen = prompts.filter((prompt) => name === undefined || prompt.name === name);
      printResult(json, chosen.map(toJson), () => (name === undefined ? listed(chosen) : chosen.map(whole).join('\n')));
    });
}

const toJson = ({ name, version, summary, template, schema }: Prompt<never>) => ({
  ...{ name, version, summary, template },
  answer: schema ? z.toJSONSchema(schema) : null,
});

const listed = (chosen: readonly Prompt<never>[]): string =>
  table(
    ['name', 'version', 'what it asks'],
    chosen.map(({ name, version, summary }) => [name, version, summary]),
  );

const whole = ({ name, version, template }: Prompt<never>): string =>
  [`${name}, version ${version}`, ...template.map(({ role, content }) => `${role}:\n${content}`)].join('\n\n');
