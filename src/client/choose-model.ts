import { DomainError } from '../domain/errors';
import { UsageError } from '../errors/errors';
import type { CampaignSpec } from '../specification/campaign-spec';
import type { ModelInput } from '../specification/evaluation-spec';

export type Price = ModelInput['price'];

/** Returns whether a text names a model as `<provider>/<model>`. */
export const isModelName = (text: string): boolean => /^[a-z0-9][a-z0-9-]*\/./.test(text);

/**
 * Finds the language model that plays in place of a policy: `<provider>/<model>`, or a purpose of the models of a campaign.
 *
 * @throws UsageError without the price of a model that no campaign names; DomainError `NoModel`
 */
export function chooseModel(source: CampaignSpec | null, wanted: string, price: Price | null): ModelInput {
  if (isModelName(wanted)) {
    const at = wanted.indexOf('/');
    if (price === null)
      throw new UsageError(
        `--price: found nothing, expected US dollars per million tokens of prompts and of answers of ${wanted}, such as 2.5,10; 0,0 for a server of your own`,
      );
    return { provider: wanted.slice(0, at), model: wanted.slice(at + 1), price };
  }
  const { embedding: _, ...models } = source?.llm?.models ?? { embedding: null };
  const found = (models as Record<string, ModelInput>)[wanted];
  if (found) return price === null ? found : { ...found, price };
  const purposes = Object.keys(models);
  const known = purposes.length > 0 ? `, or one of ${purposes.join(', ')}` : ': the campaign names no language models';
  throw new DomainError('NoModel', `--model: found "${wanted}", expected <provider>/<model>${known}`);
}

/** @throws UsageError */
export function readPrice(text: string): Price {
  const [inputPerMillion, outputPerMillion, ...others] = text
    .split(',')
    .map((part) => (part.trim() ? Number(part) : NaN));
  if (others.length === 0 && inputPerMillion! >= 0 && outputPerMillion! >= 0)
    return { inputPerMillion: inputPerMillion!, outputPerMillion: outputPerMillion! };
  throw new UsageError(
    `--price: found "${text}", expected US dollars per million tokens of prompts and of answers, such as 2.5,10`,
  );
}
