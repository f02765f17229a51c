import { resolveSpec } from '../specification/read-spec';
import type { CampaignSpec } from '../specification/campaign-spec';
import { withChange, type SpecChange } from '../specification/spec-layers';
import type { CaseWorld } from './cases';

/**
 * Returns the spec under which the cases of a world are played. It has a campaign's defaults, with fewer runs, and one model has
 * every purpose.
 *
 * @throws DomainError `InvalidSpec` for an unusable change
 */
export function caseSpec(
  { name, options, draw }: Pick<CaseWorld, 'name' | 'options' | 'draw'>,
  { provider, model }: { provider: string; model: string },
  changes: readonly SpecChange[],
): CampaignSpec {
  const base = {
    name: 'prompts-eval',
    seed: 7,
    recipe: 'coevolve',
    environment: { name, options, trainTasks: draw.count },
    llm: { models: { explorer: { provider, model, price: { inputPerMillion: 0, outputPerMillion: 0 } } } },
    synthesis: {
      rule: 'by-author', // no solver plays the cases
      candidatesPerSignal: 2,
      exploration: { contextsPerSignal: 1, rounds: 2, maxTurns: 8 },
    },
  };
  return resolveSpec(changes.reduce<unknown>(withChange, base), 'the spec of the cases');
}
