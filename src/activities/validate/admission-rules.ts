import type { AdmissionRules } from '../../domain/tasks/admission/candidate';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { enabledSignals } from '../../spec/iteration-plan';

/**
 * What a campaign's spec asks of the candidates of an iteration. The first pool is cut at its size and knows no quota;
 * the random control has the quotas of all signals that are on together, so that it may grow by as much.
 *
 * @param matched how many tasks the campaign that a control is matched with admitted in this iteration
 */
export function admissionRulesOf(
  spec: CampaignSpec,
  iteration: number,
  { approval, matched }: { approval: { rejected: ReadonlySet<string> } | null; matched: number | null },
): AdmissionRules {
  const { synthesis, admission } = spec;
  const quota = iteration === 0 ? null : synthesis.quotaPerSignal;
  return {
    validation: synthesis.validation,
    rule: synthesis.rule,
    maxActions: spec.environment.maxTurns ?? Number.POSITIVE_INFINITY,
    ...admission,
    embedded: hasEmbeddings(spec),
    quotaOf: (aim) => quota && quota * (aim === 'random' ? enabledSignals(spec) : 1),
    growthCap: matched ?? (iteration === 0 ? synthesis.initialTasks : synthesis.growthCap),
    approval: synthesis.approval ? (approval ?? 'pending') : null,
  };
}

export const hasEmbeddings = ({ llm }: CampaignSpec): boolean => llm?.models.embedding != null;
