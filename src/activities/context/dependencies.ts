import type { ArtifactStore } from '../../artifacts/artifact-store';
import type { OpenEnvironment } from '../../envs/contract/environment';
import type { EnvironmentData } from '../../envs/server/environment-data';
import type { ModelService } from '../../llm/model-service';
import type { PolicyClient } from '../../llm/policy-client';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { readStoredSpec } from '../../specification/read-spec';
import type { AnalysisOutput } from '../../statistics/analysis-output';
import type { AnalysisRequest } from '../../statistics/run-statistics';
import type { Store } from '../../store';
import { selfEnding, stepAfter } from '../../domain/campaign/parked-hints';
import type { PlayedOn } from '../../domain/experiment/played-on';
import type { ParkedCode } from '../../domain/campaign/parked-reasons';
import type { Places } from './attempt-places';
import type { CampaignRow, CampaignStatus } from '../../store/campaign/campaigns';
import type { TrainingService } from '../../training/contract/training-backend';

/** Dependencies of the activities; created once per worker. */
export type Dependencies = {
  store: Store;
  artifacts: ArtifactStore;
  environmentData: EnvironmentData;
  openEnvironment: OpenEnvironment;
  /** Closes the open sessions of a holder; never fails. */
  closeLeases(holder: string): Promise<unknown>;
  /** Returns the places of this worker for the attempts at an environment. */
  places(environment: string): Places;
  policies: PolicyClient;
  models: ModelService;
  training: TrainingService;
  /** Returns the sha256 of code, packages and CPU of the trainer on this machine. */
  trainerVersion(): Promise<string>;
  /** Returns the sha256 of everything of both servers that can change an attempt. Null means that another stack may run them. */
  serverVersion(): Promise<string | null>;
  /** Returns the machine of this worker and its code, which cells record. */
  playedOn(): Promise<PlayedOn>;
  /** Renders and stores the report of a campaign. */
  writeReport(campaignId: number): Promise<void>;
  /** Analyses the long table of an experiment, or returns the stored analysis of the same input. */
  analyze(request: AnalysisRequest): Promise<{ output: AnalysisOutput }>;
  /** Notifies the operators of a campaign, if a webhook is configured. It never fails. */
  notify?: ((campaign: string, notification: CampaignNotification) => Promise<void>) | undefined;
};

/** A campaign has parked, continues by itself, has ended, or is not continued by Temporal. */
export type CampaignNotification = {
  status: CampaignStatus | 'lost' | 'failing';
  /** True if it parked until an operator approves its tasks or its policy. */
  waitsForApproval: boolean;
  /** Code of the reason why it parked (docs/parked.md). Is null otherwise. */
  code: ParkedCode | null;
  /** Why it parked or continues. Is null at its end. */
  reason: string | null;
  /** The step that removes the cause, and what ends the wait without an operator. Is null unless it parked. */
  next: string | null;
};

type Event = Pick<CampaignNotification, 'status' | 'code' | 'reason'> & { awaits?: string | undefined };

/** Notifies the operators, after the rows are stored. */
export async function notifyOperators(
  { store, notify }: Pick<Dependencies, 'store' | 'notify'>,
  campaignId: number,
  { awaits, ...event }: Event,
): Promise<void> {
  if (!notify) return;
  const { name } = await store.campaigns.get(campaignId);
  const { code } = event;
  const next = code === null ? null : [stepAfter(code, name), selfEnding({ awaits })].filter(Boolean).join('. ');
  await notify(name, { ...event, next, waitsForApproval: code === 'ApprovalNeeded' });
}

/** Returns a campaign with its spec, where keys of later releases have their defaults. */
export async function getCampaign(
  { store }: Pick<Dependencies, 'store'>,
  id: number,
): Promise<CampaignRow<CampaignSpec>> {
  const row = await store.campaigns.get(id);
  return { ...row, spec: readStoredSpec(row.spec) };
}
