import type { ArtifactStore } from '../../artifacts/artifact-store';
import type { OpenEnvironment } from '../../envs/base/environment';
import type { EnvironmentData } from '../../envs/server/environment-data';
import type { ModelService } from '../../llm/model-service';
import type { PolicyClient } from '../../llm/policy-client';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { readStoredSpec } from '../../spec/read-spec';
import type { Store } from '../../store';
import type { CampaignRow } from '../../store/campaign/campaigns';
import type { TrainingService } from '../../training/training-backend';

/** Dependencies of the activities; created once per worker. */
export type Dependencies = {
  store: Store;
  artifacts: ArtifactStore;
  environmentData: EnvironmentData;
  openEnvironment: OpenEnvironment;
  /** Closes the open sessions of a holder; never fails. */
  closeLeases(holder: string): Promise<unknown>;
  policies: PolicyClient;
  models: ModelService;
  training: TrainingService;
  /** Renders and stores the report of a campaign. */
  writeReport(campaignId: number): Promise<void>;
};

/** Returns a campaign with its spec, where keys of later releases have their defaults. */
export async function getCampaign(
  { store }: Pick<Dependencies, 'store'>,
  id: number,
): Promise<CampaignRow<CampaignSpec>> {
  const row = await store.campaigns.get(id);
  return { ...row, spec: readStoredSpec(row.spec) };
}
