import { Option, type Command } from 'commander';
import { artifactStore } from '../../artifacts/artifact-store';
import { listModels, requireModelName, saveModel, type ImportedModel } from '../../artifacts/imported-models';
import { importModel } from '../../training/import-model';
import { printResult, say, shortHash, table } from '../base/output';
import { currentConfig } from '../../client/session';

type ImportOptions = { name?: string; weights: string; chatFormat?: string; json?: boolean };

/** `coevolve model import|list`: the pretrained models that campaigns may start from. No stack is needed. */
export function addModel(program: Command): void {
  const model = program.command('model').description('import pretrained models, list those that there are');
  model
    .command('import <source>')
    .description('store a pretrained model as a base policy; safe to repeat')
    .addHelpText(
      'after',
      '\n<source> is a GGUF file, a folder with config.json and safetensors, package:<name> of an installed' +
        '\nPython package that holds a GGUF file, or <owner>/<name> of the Hugging Face hub.',
    )
    .option('--name <name>', 'what specs call it in policy.model; made of the source by default')
    .addOption(
      new Option('--weights <type>', 'how weights are stored; a GGUF file counts as bfloat16')
        .choices(['as-found', 'bfloat16', 'float32'])
        .default('as-found'),
    )
    .option('--chat-format <format>', 'for a model without a chat template of its own')
    .option('--json', 'print what was imported as JSON')
    .action(async (source: string, { name, json, ...options }: ImportOptions) => {
      const config = currentConfig();
      const artifacts = artifactStore(config.artifacts);
      const called = name ?? nameOf(source);
      requireModelName(called);
      say(`importing ${source} as ${called}`);
      const imported = { name: called, ...(await importModel(config, artifacts, source, options)) };
      await saveModel(artifacts, imported);
      say(`imported; a spec starts from it with \`policy: { source: imported, model: ${imported.name} }\`,`);
      say('as examples/smollm2.yaml does: `coevolve start examples/smollm2.yaml`');
      printResult(json, imported, () => listed([imported]));
    });
  model
    .command('list')
    .description('list the imported models')
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const models = await listModels(artifactStore(currentConfig().artifacts));
      if (models.length === 0) say('no model is imported yet: `coevolve model import <source>` imports one');
      printResult(json, models, () => listed(models));
    });
}

/** The last part of a source without its ending, in the letters of a name. */
function nameOf(source: string): string {
  const last = source.replace(/\/+$/, '').split(/[/:]/).at(-1) ?? source;
  const plain = last.replace(/\.gguf$/i, '').replace(/^llm-/, '');
  return plain.toLowerCase().replace(/[^a-z0-9.-]+/g, '-');
}

const listed = (models: readonly ImportedModel[]): string =>
  table(
    ['name', 'policy', 'architecture', 'parameters', 'weights', 'chat format', 'licence', 'from'],
    models.map((m) => [
      ...[m.name, shortHash(m.policyId), m.architecture],
      m.parameters,
      ...[m.weights, m.chatFormat, m.licence, origin(m)],
    ]),
  );

const origin = ({ source: { kind, ...found } }: ImportedModel): string =>
  [kind, found['package'] ?? found['name'] ?? found['file']].filter(Boolean).join(' ');
