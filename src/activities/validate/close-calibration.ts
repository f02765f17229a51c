import { countVerdicts, findDrift, measureTrust } from '../../domain/evaluation/judge-calibration';
import { DomainError } from '../../domain/errors';
import { judgeVersion } from '../../llm/prompts/judge';
import type { IterationKey } from '../../store/campaign/iterations';
import { calibrationJudgementId, knownItems } from './judge-calibration';
import { distrustOf } from './distrust';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Stores the judge's agreement with trajectories of known verdict, and its drift since the campaign's first calibration. An
 * event reports a judge that is not trusted.
 * A calibration without items is not stored.
 *
 * @throws DomainError `StateMismatch` when an item has no judgement
 */
export const closeCalibration =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign({ store }, key.campaignId);
    const items = await store.judgeCalibrations.listItems(key);
    if (items.length === 0) return;
    const known = knownItems(items);
    const judgements = await store.judgements.findMany(
      key.campaignId,
      known.map(({ ordinal }) => calibrationJudgementId(key, ordinal)),
    );
    const judged = known.map(({ ordinal, corruption }) => {
      const judgement = judgements.get(calibrationJudgementId(key, ordinal));
      if (!judgement) throw new DomainError('StateMismatch', `calibration item ${ordinal} has no judgement`);
      return { corrupted: corruption !== null, completed: judgement.completed };
    });

    const now = { judgeVersion: judgeVersion(spec), counts: countVerdicts(judged) };
    const [first] = await store.judgeCalibrations.list(key.campaignId);
    const made = {
      ...now,
      ...measureTrust(now.counts, spec.evaluation.confidence),
      dropped: items.length - known.length,
      drift: findDrift(now, first && first.iteration < key.iteration ? first : null),
    };
    await store.judgeCalibrations.save(key, made, distrustOf(made, spec.judge.minimumAgreement));
  };
