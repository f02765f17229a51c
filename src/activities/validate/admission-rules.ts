import { deriveSeed } from '../../domain/base/seed-tree';
import type { AdmissionRules } from '../../domain/tasks/admission/candidate';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { enabledSignals } from '../../spec/iteration-plan';

/**
 * Returns the admission rules of an iteration from the campaign's spec. The first pool is limited by its size and has no
 * quotas. The quota of the random control is the sum over all enabled signals, so that both can grow equally.
 *
 * @param matched number of tasks that the matched campaign of a control admitted in this iteration
 */
export function admissionRulesOf(
  spec: CampaignSpec,
  iteration: number,
  { approval, matched }: { approval: { rejected: ReadonlySet<string> } | null; matched: number | null },
): AdmissionRules {
  const { synthesis, admission } = spec;
  const quota = iteration === 0 ? null : synthesis.quotaPerSignal;
  return {
    seed: deriveSeed(spec.seed, iteration, 'admission'),
    validation: synthesis.validation,
    rule: synthesis.rule,
    maxActions: spec.environment.maxTurns ?? Number.POSITIVE_INFINITY,
    ...admission,
    embedded: hasEmbeddings(spec),
    quotaOf: (aim) => quota && quota * (aim === 'random' ? enabledSignals(spec).length : 1),
    growthCap: matched ?? (iteration === 0 ? synthesis.initialTasks : synthesis.growthCap),
    approval: synthesis.approval ? (approval ?? 'pending') : null,
  };
}

export const hasEmbeddings = ({ llm }: CampaignSpec): boolean => llm?.models.embedding != null;
