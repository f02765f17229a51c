import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { AdmissionRules } from '../../domain/tasks/admission/candidate';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { enabledSignals, timesOf } from '../../specification/iteration-plan';
import type { MatchLimits } from './match-groups';

/**
 * Returns the admission rules of an iteration from the campaign's spec. The first pool is limited by its size and has no
 * quotas. The quota of the random control is the sum over all enabled signals, so that both can grow equally.
 *
 * @param limits the tasks that are still to be admitted to match another campaign, in place of quota and growth cap
 */
export function admissionRulesOf(
  spec: CampaignSpec,
  iteration: number,
  { approval, limits }: { approval: { rejected: ReadonlySet<string> } | null; limits: MatchLimits | null },
): AdmissionRules {
  const { synthesis, admission } = spec;
  const quota = iteration === 0 ? null : synthesis.quotaPerSignal;
  return {
    seed: iterationSeed(spec, iteration, 'admission'),
    validation: synthesis.validation,
    rule: synthesis.rule,
    maxActions: spec.environment.maxTurns ?? Number.POSITIVE_INFINITY,
    ...admission,
    embedded: hasEmbeddings(spec),
    quotaOf: (aim) =>
      limits
        ? limits.ofAim(aim)
        : quota && quota * timesOf(spec) * (aim === 'random' ? enabledSignals(spec).length : 1),
    growthCap: limits?.total ?? (iteration === 0 ? synthesis.initialTasks : synthesis.growthCap),
    approval: synthesis.approval ? (approval ?? 'pending') : null,
  };
}

export const hasEmbeddings = ({ llm }: CampaignSpec): boolean => llm?.models.embedding != null;
