import { DomainError } from '../../domain/errors';
import { answerText, callVerdict, isUseless } from '../../llm/call-verdict';
import { shortened } from '../../llm/prompts/shortened';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from './dependencies';

type Role = 'explorer' | 'reflector' | 'abstractor' | 'judge';

/** Answers that the reason quotes, and the characters of each. */
const [shown, shownCharacters] = [3, 160];

/**
 * Ends the work of a model that is of no use, after the failure of its newest answer is stored: a resumed phase calls it
 * once more, and continues with the first usable answer.
 *
 * @throws DomainError `UselessAnswers` when none of the last `llm.uselessAnswers` answers could be used
 */
export async function requireUsefulAnswers(
  { store }: Pick<Dependencies, 'store'>,
  { llm, name }: CampaignSpec,
  { campaignId }: Pick<IterationKey, 'campaignId'>,
  purpose: Role,
): Promise<void> {
  const limit = llm?.uselessAnswers ?? null;
  if (!llm || limit === null) return;
  const { provider, model } = llm.models[purpose];
  const calls = await store.modelCalls.listFinal(campaignId, { purpose, provider, model, limit });
  const read = calls.map((call) => ({ ...callVerdict(call), answer: answerText(call.answer) }));
  if (read.length < limit || !read.every(isUseless)) return;
  const quoted = [...new Map(read.map((one) => [one.answer, one])).values(), ...read].slice(0, shown);
  throw new DomainError(
    'UselessAnswers',
    [
      `the last ${limit} answers of the ${purpose} (${model} of ${provider}) could not be used; \`coevolve calls ${name} --role ${purpose} --useless\` lists them`,
      ...quoted.map(({ answer, problem }) => `${JSON.stringify(shortened(answer, shownCharacters))}: ${problem}`),
    ].join('\n'),
  );
}
