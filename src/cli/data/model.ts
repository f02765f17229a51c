import { Option, type Command } from 'commander';
import { artifactStore } from '../../artifacts/artifact-store';
import { listModels, type ImportedModel } from '../../artifacts/imported-models';
import { importModel, type ImportChoices } from '../../training/data/import-model';
import { shortHash } from '../../domain/formats';
import { printResult, printMessage } from '../output/output';
import { currentConfig } from '../../client/connections';
import { properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type ImportOptions = Omit<ImportChoices, 'name'> & { name?: string; json?: boolean };

/** `coevolve model import|list`: pretrained models from which campaigns start; needs no stack. */
export function addModel(program: Command): void {
  const model = program.command('model').description('import and list pretrained models');
  model
    .command('import <source>')
    .description('store a pretrained model as a base policy; safe to repeat')
    .addHelpText(
      'after',
      '\n<source> is a GGUF file, a folder with config.json and safetensors, package:<name> of an installed' +
        '\nPython package that holds a GGUF file, or <owner>/<name> of the Hugging Face hub.',
    )
    .option('--name <name>', 'name for policy.model (default: from the source)')
    .addOption(
      new Option('--weights <type>', 'data type of the weights; GGUF counts as bfloat16')
        .choices(['as-found', 'bfloat16', 'float32'])
        .default('as-found'),
    )
    .option('--chat-format <format>', 'a verified chat format, or `template` (default: detected)')
    .option('--fold-system', 'put system messages into the first user message')
    .option('--json', 'print the imported model as JSON')
    .action(async (source: string, { name, json, ...options }: ImportOptions) => {
      const config = currentConfig();
      const artifacts = artifactStore(config.artifacts);
      const modelName = name ?? suggestedName(source);
      printMessage(`importing ${source} as ${modelName}`);
      const imported = await importModel(config, artifacts, source, { name: modelName, ...options });
      for (const note of imported.notes ?? []) printMessage(note);
      printResult(json, imported, () => modelTable([imported]));
      printMessage(`a spec starts from it with \`policy: { source: imported, model: ${imported.name} }\``);
    });
  model
    .command('list')
    .description('list the imported models')
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const models = await listModels(artifactStore(currentConfig().artifacts));
      if (models.length === 0) printMessage('no model is imported; run `coevolve model import <source>`');
      printResult(json, models, () => modelTable(models));
    });
}

/** Returns the last part of a source without its extension, in lower case with dashes. */
function suggestedName(source: string): string {
  const last = source.replace(/\/+$/, '').split(/[/:]/).at(-1) ?? source;
  const plain = last.replace(/\.gguf$/i, '').replace(/^llm-/, '');
  return plain.toLowerCase().replace(/[^a-z0-9.-]+/g, '-');
}

const modelTable = (models: readonly ImportedModel[]): string =>
  terminalTable(models, [
    text('name', (m) => m.name),
    text('policy', (m) => shortHash(m.policyId)),
    ...properties('architecture', 'parameters', 'weights', 'chatFormat', 'license'),
    text('from', origin),
  ]);

const origin = ({ source: { kind, ...found } }: ImportedModel): string =>
  [kind, found['package'] ?? found['name'] ?? found['file']].filter(Boolean).join(' ');
