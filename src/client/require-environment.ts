import { DomainError } from '../domain/base/errors';
import { didYouMean } from '../base/did-you-mean';
import type { Environments } from '../envs/environments';
import type { Capabilities } from '../envs/server/environment-data';
import type { CampaignSpec } from '../spec/campaign-spec';
import { synthesizes } from '../spec/iteration-plan';

/**
 * Checks that the environment exists, is available on its server, and has the capabilities that the recipe needs.
 *
 * @returns the capabilities of the environment
 * @throws DomainError `InvalidSpec`; EnvironmentError when its server is unavailable
 */
export async function requireEnvironment({ data, health }: Environments, spec: CampaignSpec): Promise<Capabilities> {
  const { name } = spec.environment;
  const names = await data.names();
  if (!names.includes(name)) throw invalid(missingText(name, names, (await health.read()).unavailable));
  const capabilities = await data.capabilities(name);
  const { variants, compose, gold } = capabilities;
  if (!gold) requireStartWithoutReference(spec);
  if (!synthesizes(spec) || (spec.llm ? compose : variants)) return capabilities;
  const lacks = spec.llm ? 'cannot create tasks from the answers of a model' : 'has no generator of variants';
  const next =
    spec.llm || !compose ? 'choose a recipe without synthesis, such as co-evolving-agents' : 'add an llm section';
  throw invalid(`recipe: "${spec.recipe}" synthesizes tasks, and ${name} ${lacks}; ${next}`);
}

const invalid = (message: string): DomainError => new DomainError('InvalidSpec', message);

function missingText(name: string, names: readonly string[], unavailable: Readonly<Record<string, string>>): string {
  const reason = Object.hasOwn(unavailable, name) ? unavailable[name] : undefined;
  if (reason === undefined)
    return `environment.name: found "${name}", expected one of ${names.join(', ')}${didYouMean(name, names)}`;
  return `environment.name: "${name}" is not available on this machine: ${reason}; then run \`coevolve up\` again`;
}

/** Without reference actions of the environment, only imported experts show how a task is solved. */
function requireStartWithoutReference({ environment: { name, experts }, start }: CampaignSpec): void {
  if (start === 'base' || experts !== null) return;
  throw invalid(
    `start: found sft, and ${name} has no expert actions to train on; set \`start: base\` with an imported policy ` +
      `(policy: { source: imported, model: ... }), or import experts: \`coevolve experts import <file> --environment ${name}\``,
  );
}
