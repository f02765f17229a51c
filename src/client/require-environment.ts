import { DomainError } from '../domain/base/errors';
import { recipes } from '../domain/campaign/recipe';
import type { Capabilities } from '../envs/server/environment-data';
import type { Environments } from '../envs/environments';
import type { CampaignSpec } from '../spec/campaign-spec';

/**
 * The environment must exist, be playable where its server runs, and be able to do what the recipe asks of it.
 *
 * @returns what it can do
 * @throws DomainError `InvalidSpec`; EnvironmentError when its server is away
 */
export async function requireEnvironment({ data, health }: Environments, spec: CampaignSpec): Promise<Capabilities> {
  const { name } = spec.environment;
  const names = await data.names();
  if (!names.includes(name))
    throw new DomainError('InvalidSpec', noSuch(name, names, (await health.read()).unavailable));
  const capabilities = await data.capabilities(name);
  const { variants, compose, gold } = capabilities;
  if (!gold) requireStartWithoutGold(spec);
  if (!synthesizes(spec) || (spec.llm ? compose : variants)) return capabilities;
  const lacks = spec.llm ? 'cannot make a task of what a model writes' : 'has no generator of variants';
  const next =
    spec.llm || !compose ? 'choose a recipe without synthesis, such as co-evolving-agents' : 'add an llm section';
  throw new DomainError('InvalidSpec', `recipe: "${spec.recipe}" synthesizes tasks, and ${name} ${lacks}; ${next}`);
}

function noSuch(name: string, names: readonly string[], unavailable: Readonly<Record<string, string>>): string {
  const lacks = unavailable[name];
  if (lacks === undefined) return `environment.name: found "${name}", expected one of ${names.join(', ')}`;
  return `environment.name: "${name}" cannot be had on this machine: ${lacks}; then \`coevolve up\` again`;
}

/** Without gold nobody shows how a task is solved, but experts that were imported. */
function requireStartWithoutGold({ environment: { name, experts }, start }: CampaignSpec): void {
  if (start === 'base' || experts !== null) return;
  throw new DomainError(
    'InvalidSpec',
    `start: found sft, and ${name} has no expert actions to begin with; write \`start: base\` with a policy that exists ` +
      `(policy: { source: imported, model: ... }), or bring experts: \`coevolve experts import <file> --environment ${name}\``,
  );
}

const synthesizes = (spec: CampaignSpec): boolean =>
  spec.synthesis.initialTasks !== null || recipes[spec.recipe].aims.length > 0;
