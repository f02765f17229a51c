import { DomainError } from '../domain/errors';
import { didYouMean } from '../input/did-you-mean';
import type { Environments } from '../envs/environments';
import type { Capabilities } from '../envs/server/environment-data';
import type { CampaignSpec } from '../specification/campaign-spec';
import { synthesizes } from '../domain/campaign/recipe';

/**
 * Checks that the environment exists, is available on its server, and has the capabilities that the recipe needs.
 *
 * @returns the capabilities of the environment
 * @throws DomainError `InvalidSpec`; `NotInstalled` when parts of the environment are not here; EnvironmentError when its server is unavailable
 */
export async function requireEnvironment({ data, health }: Environments, spec: CampaignSpec): Promise<Capabilities> {
  const { name } = spec.environment;
  const names = await data.names();
  if (!names.includes(name)) throw missing(name, names, (await health.read()).unavailable);
  const capabilities = await data.capabilities(name);
  if (!capabilities.gold) requireStartWithoutReference(spec);
  if (synthesizes(spec)) requireSynthesis(spec, capabilities);
  return capabilities;
}

/** Checks that tasks can be made, and that their attempts can be graded. */
function requireSynthesis(spec: CampaignSpec, { variants, compose, gold }: Capabilities): void {
  const { environment, synthesis, judge, llm, recipe } = spec;
  const { name, experts } = environment;
  const subject = `recipe: "${recipe}" synthesizes tasks, and ${name}`;
  if (!llm && !variants)
    throw invalid(
      compose === 'none'
        ? `${subject} has no generator of variants; ${withoutSynthesis}`
        : `${subject} has no generator of variants; add an llm section with a model for the explorer, or ${withoutSynthesis}`,
    );
  if (llm && compose === 'none')
    throw invalid(`${subject} cannot create tasks from the answers of a model; ${withoutSynthesis}`);
  if (!llm || (compose === 'checker' && synthesis.grader === 'environment')) return;
  const grader =
    compose === 'judge' ? `the judge alone grades tasks composed in ${name}` : 'synthesis.grader is the judge';
  if (judge.calibrationTasks === 0)
    throw invalid(
      `judge.calibrationTasks: found 0, and ${grader}; expected at least 1, because its agreement is needed`,
    );
  if (!gold && experts === null)
    throw invalid(
      `environment.experts: found none, and ${grader}, whose calibration needs reference actions; import some: ` +
        `\`coevolve experts import <file> --environment ${name}\`, or ${withoutSynthesis}`,
    );
}

const withoutSynthesis = 'choose a recipe without synthesis, such as co-evolving-agents';

const invalid = (message: string): DomainError => new DomainError('InvalidSpec', message);

function missing(name: string, names: readonly string[], unavailable: Readonly<Record<string, string>>): DomainError {
  const reason = Object.hasOwn(unavailable, name) ? unavailable[name] : undefined;
  if (reason === undefined)
    return invalid(`environment.name: found "${name}", expected one of ${names.join(', ')}${didYouMean(name, names)}`);
  const text = `environment.name: "${name}" is not available on this machine: ${reason}; then run \`coevolve up\` again`;
  return new DomainError('NotInstalled', text);
}

/** Without reference actions of the environment, only imported experts show how a task is solved. */
function requireStartWithoutReference({ environment: { name, experts }, start }: CampaignSpec): void {
  if (start === 'base' || experts !== null) return;
  throw invalid(
    `start: found sft, and ${name} has no expert actions to train on; set \`start: base\` with an imported policy ` +
      `(policy: { source: imported, model: ... }), or import experts: \`coevolve experts import <file> --environment ${name}\``,
  );
}
