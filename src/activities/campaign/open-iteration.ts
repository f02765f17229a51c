import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import { judgeVersion } from '../../llm/prompts/judge';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { planOf } from '../../specification/iteration-plan';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { overdueTraining } from './overdue-training';

type Input = { campaignId: number; iteration: number; recipe: string; epoch?: number };

/**
 * Opens an iteration if it is not open yet, and returns its plan from recipe and spec.
 *
 * @throws DomainError `StateMismatch` when the database is older than the campaign, `StaleEpoch`
 */
export const openIteration =
  (deps: Dependencies) =>
  async ({ campaignId, iteration, epoch: ownEpoch }: Input): Promise<IterationPlan> => {
    const campaign = await getCampaign(deps, campaignId);
    const { spec, forkIteration } = campaign;
    const plan = planOf(spec, iteration);
    const epoch = await deps.store.iterations.openNext(campaignId, iteration, ownEpoch ?? null);
    const overdue = forkIteration === iteration - 1 ? await overdueTraining(deps, campaign) : undefined;
    return {
      ...plan,
      epoch,
      ...(overdue ? { overdue } : {}),
      calibrates: plan.calibrates || (mayCalibrate(spec, plan) && !(await isCalibrated(deps, campaignId, spec))),
    };
  };

const mayCalibrate = ({ llm, judge }: CampaignSpec, { phases }: Pick<IterationPlan, 'phases'>): boolean =>
  llm !== null && judge.calibrationTasks > 0 && phases.includes('validate');

/** An iteration without candidates leaves the calibration to the next one. */
const isCalibrated = async ({ store }: Dependencies, campaignId: number, spec: CampaignSpec): Promise<boolean> =>
  (await store.judgeCalibrations.findNewest(campaignId, judgeVersion(spec))) !== null;
