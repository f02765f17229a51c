import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { didYouMean } from '../../input/did-you-mean';
import { codeOf, UsageError } from '../../errors/errors';
import { currentConfig } from '../../client/connections';
import type { Config } from '../../config';
import { recipeNames, recipes, type RecipeName } from '../../domain/campaign/recipe';
import { createEnvironments } from '../../envs/environments';
import { newSpecText } from '../../specification/new-spec';
import { askEnvironment } from '../../client/choose-defaults';
import { readSpec } from '../../specification/read-spec';
import { asCalled } from '../output/called-name';
import { chosenLine } from '../output/running-text';
import { printMessage, printResult } from '../output/output';

type Options = { recipe: RecipeName; environment: string; json?: boolean };

/** `coevolve init <file>`: writes a spec with every setting of its recipe, named as the file. */
export function addInit(program: Command): void {
  program
    .command('init <file>')
    .description('write a commented spec for a recipe and an environment')
    .addOption(new Option('--recipe <name>', 'recipe of the campaign').choices(recipeNames).default('combined'))
    .option('--environment <name>', 'environment of the campaign', 'intercode-sql')
    .option('--json', 'print the path as JSON')
    .action(async (file: string, { recipe, environment, json }: Options) => {
      const config = currentConfig();
      await requireKnown(config, environment);
      const name = path.basename(file, path.extname(file));
      const heading = [
        ...schemaLine(config, file),
        `${recipes[recipe].summary}.`,
        `Check it with \`coevolve start ${file} --dry-run\`. Comments hold defaults; docs/spec.md explains every key.`,
      ];
      const request = { name, recipe, environment };
      const plain = newSpecText(request, heading);
      const spec = readSpec(plain, file); // the file's name may be no campaign's name
      const required = { name, seed: spec.seed, environment: { name: environment }, recipe };
      const chosen = await askEnvironment(config, { spec, given: required });
      const reasons = chosen.map((one) => chosenLine(environment, one));
      const text = newSpecText({ ...request, changes: chosen }, [...heading, ...reasons]);
      await writeFile(file, asCalled(text), { flag: 'wx' }).catch((error: unknown) => {
        throw new UsageError(
          `${file}: ${codeOf(error) === 'EEXIST' ? 'exists already; choose another file' : String(error)}`,
        );
      });
      printMessage(`next: coevolve start ${file} --dry-run`);
      printResult(json, { file: path.resolve(file) }, () => file);
    });
}

/** Names of environments are known only while the environment server runs. */
async function requireKnown(config: Config, environment: string): Promise<void> {
  if (!config.environment.url) return;
  const names = await createEnvironments(config, { timeoutMs: 5_000 })
    .data.names()
    .catch(() => [environment]);
  if (names.includes(environment)) return;
  throw new UsageError(
    `--environment: found ${environment}, expected one of ${names.join(', ')}${didYouMean(environment, names)}`,
  );
}

function schemaLine({ projectRoot }: Config, file: string): string[] {
  const schema = path.join(projectRoot, 'examples', 'campaign.schema.json');
  const relative = path.relative(path.dirname(path.resolve(file)), schema);
  return existsSync(schema) ? [`yaml-language-server: $schema=${relative}`] : [];
}
