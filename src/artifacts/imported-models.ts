import { readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DomainError } from '../domain/errors';
import { didYouMean } from '../input/did-you-mean';
import { writeAtomically } from '../files/atomic-write';
import { type ArtifactStore } from './artifact-store';

/** A model that was trained elsewhere and is stored as a policy. */
export type ImportedModel = {
  /** Name in specs: `policy.model`. */
  name: string;
  /** The hash of its policy. */
  policyId: string;
  /** Origin: a GGUF file, a folder, a package or a hub, with its identifier. */
  source: Record<string, string>;
  license: string;
  chatFormat: string;
  /** True if its chat template renders functions in a format that was checked: `policy.functions: template`. */
  tools: boolean;
  architecture: string;
  parameters: number;
  /** The type in which its weights are stored. */
  weights: string;
  /** Remarks of the import: the chat format that was chosen, and the limits of the model here. */
  notes?: readonly string[];
};

const isName = /^[a-z0-9][a-z0-9.-]{0,62}$/;

/**
 * Stores a model under its name. A name cannot change its policy, because campaigns that use the name must be
 * repeatable.
 *
 * @throws DomainError `ModelExists` when another policy has the name; `InvalidName`
 */
export async function saveModel(artifacts: ArtifactStore, model: ImportedModel): Promise<void> {
  await requireFreeName(artifacts, model);
  await writeAtomically(artifacts.modelPath(model.name), `${JSON.stringify(model, null, 2)}\n`);
}

/** @throws DomainError `ModelExists` when another policy has the name; `InvalidName` */
export async function requireFreeName(artifacts: ArtifactStore, model: ImportedModel): Promise<void> {
  requireModelName(model.name);
  const found = await findModel(artifacts, model.name);
  if (found && found.policyId !== model.policyId)
    throw new DomainError(
      'ModelExists',
      `"${model.name}" is the name of policy ${found.policyId.slice(0, 12)}, not of ${model.policyId.slice(0, 12)}; choose another name with --name`,
    );
}

/** @throws DomainError `InvalidName` */
export function requireModelName(name: string): void {
  if (isName.test(name)) return;
  const expected = 'lower-case letters, digits, dots and hyphens, at most 63';
  throw new DomainError('InvalidName', `--name: found "${name}", expected ${expected}`);
}

/** @throws DomainError `UnknownModel`, with the imported models and the import command */
export async function getModel(artifacts: ArtifactStore, name: string): Promise<ImportedModel> {
  const found = await findModel(artifacts, name);
  if (found) return found;
  const known = (await listModels(artifacts)).map((model) => model.name);
  throw new DomainError(
    'UnknownModel',
    `policy.model: found "${name}", expected ${known.length > 0 ? `one of ${known.join(', ')}` : 'an imported model'}; ` +
      `\`coevolve model import <source> --name ${name}\` imports it${didYouMean(name, known)}`,
  );
}

/** @throws DomainError `NoFunctionFormat` when the chat template of the model has no checked format for functions */
export function requireFunctionFormat({ name, chatFormat, tools }: ImportedModel): void {
  if (tools) return;
  throw new DomainError(
    'NoFunctionFormat',
    `policy.functions: found template, expected text: the chat template of "${name}" (${chatFormat}) does not render functions ` +
      'once, at the start, in a format that is known; later prompts would not extend earlier ones',
  );
}

/** Lists all models by name. */
export async function listModels(artifacts: ArtifactStore): Promise<ImportedModel[]> {
  const files = await readdir(dirname(artifacts.modelPath('any'))).catch(() => []);
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  const models = await Promise.all(names.toSorted().map((name) => findModel(artifacts, name)));
  return models.filter((model) => model !== undefined);
}

export async function findModel(artifacts: ArtifactStore, name: string): Promise<ImportedModel | undefined> {
  if (!isName.test(name)) return undefined;
  const text = await readFile(artifacts.modelPath(name), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as ImportedModel);
}
