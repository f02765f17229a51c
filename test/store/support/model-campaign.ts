import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { CampaignSpec } from '../../../src/specification/campaign-spec';
import { specHash } from '../../../src/specification/read-spec';
import { createStore, type Store } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';
import type { ModelCall, Settlement } from '../../../src/store/spending/model-calls';
import { specWithModels } from '../../support/models/scripted-provider';

export type ModelCampaign = { store: Store; spec: CampaignSpec; name: string; campaignId: number; key: IterationKey };

/** Creates a campaign with language models and an open first iteration; `changes` override fields of its spec. */
export async function modelCampaign(pool: Pool, changes: Record<string, unknown> = {}): Promise<ModelCampaign> {
  const store = createStore(pool);
  const name = `m-${randomUUID()}`;
  const spec = specWithModels(name, changes);
  const row = { name, recipe: spec.recipe, environment: spec.environment.name, seed: spec.seed };
  const { id: campaignId } = await store.campaigns.save({ ...row, spec, specHash: specHash(spec) });
  const epoch = await store.iterations.open(campaignId, 1);
  return { store, spec, name, campaignId, key: { campaignId, iteration: 1, epoch } };
}

export const modelCall = (key: IterationKey, callId: string, changes: Partial<ModelCall> = {}): ModelCall => ({
  key,
  callId,
  purpose: 'reflector',
  provider: 'scripted',
  model: 'scripted-chat',
  prompt: 'reflection@1',
  requestSha256: `hash of ${callId}`,
  timeoutSeconds: 120,
  ...changes,
});

export const settlement = (changes: Partial<Settlement> = {}): Settlement => ({
  answer: { kind: 'text', text: 'seven' },
  promptTokens: 10,
  completionTokens: 5,
  usd: 0.001,
  seconds: 0.5,
  estimated: false,
  ...changes,
});
