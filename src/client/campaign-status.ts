import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import type { CampaignRow } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import type { TrainingCost } from '../store/spending/ledger';
import type { ScenarioCompletion } from '../store/training/scenarios';
import type { RunningJob } from '../store/training/training-progress';
import { statusQuery } from '../workflows/base/messages';
import type { Session } from './session';

export type CampaignDetails = CampaignState &
  Pick<CampaignRow, 'forkedFrom' | 'forkIteration' | 'nondeterminism'> & {
    phases: PhaseRow[];
    jobs: RunningJob[];
    training: TrainingCost;
    scenarios: ScenarioCompletion[];
  };

/** Returns all campaigns in the order of their start, without their specs. */
export const listCampaigns = async ({ store }: Session): Promise<Omit<CampaignRow, 'spec'>[]> =>
  (await store.campaigns.list()).map(({ spec: _spec, ...row }) => row);

/**
 * Returns a campaign's state from its workflow, with its phases, running training jobs and costs from the database.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function readCampaignDetails({ store, temporal }: Session, name: string): Promise<CampaignDetails> {
  const { id, forkedFrom, forkIteration, nondeterminism } = await store.campaigns.getByName(name);
  const client = await temporal();
  const state = await client.workflow.getHandle(campaignWorkflowId(name)).query(statusQuery);
  return {
    ...state,
    ...{ forkedFrom, forkIteration, nondeterminism },
    phases: await store.iterations.listPhases(id),
    jobs: await store.trainingProgress.listRunning(id),
    training: await store.ledger.getTrainingCost(id),
    scenarios: await store.evaluations.listScenarios(id),
  };
}
