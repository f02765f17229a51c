import { buildPreferencePairs } from '../../../src/activities/pair/build-preference-pairs';
import { commitPhase } from '../../../src/activities/campaign/commit-phase';
import { detectSignals } from '../../../src/activities/detect/detect-signals';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { synthesizeTasks } from '../../../src/activities/synthesize/synthesize-tasks';
import type { Phase } from '../../../src/domain/campaign/phases';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Begins a phase without its work, like a database that was restored from a backup before the work. */
async function beginCampaign(phase: Phase): Promise<TaskCampaign & { commit: () => Promise<unknown> }> {
  const campaign = await taskCampaign(database.pool);
  const phaseKey = { ...campaign.key, phase, previous: null };
  await campaign.store.iterations.beginPhase(phaseKey);
  return { ...campaign, commit: () => commitPhase(campaign.services)(phaseKey) };
}

const missingWork = (parts: string) => ({
  code: 'StateMismatch',
  message: expect.stringMatching(new RegExp(`lacks its work: ${parts};.*coevolve reconcile`)),
});

test.each([
  { phase: 'detect', work: detectSignals, part: 'signals' },
  { phase: 'pair', work: buildPreferencePairs, part: 'pairs' },
] as const)('$phase commits with an empty result, but not if its work is missing', async ({ phase, work, part }) => {
  const { commit, services, key } = await beginCampaign(phase);
  await expect(commit()).rejects.toMatchObject(missingWork(part));
  await work(services)(key);
  await work(services)(key);
  await expect(commit()).resolves.toMatchObject({ note: expect.any(String) });
});

test('synthesis commits after every aim is done and the validation is planned', async () => {
  const { commit, services, key } = await beginCampaign('synthesize');
  for (const aim of ['forgetting', 'rare'] as const) await synthesizeTasks(services)({ ...key, aim });
  await expect(commit()).rejects.toMatchObject(missingWork('boundary, validation plan'));
  await planValidation(services)(key);
  await expect(commit()).rejects.toMatchObject(missingWork('boundary'));
  await synthesizeTasks(services)({ ...key, aim: 'boundary' });
  await expect(commit()).resolves.toEqual({
    note: 'candidates 0',
    spending: { committed: { llmTokens: 0, usd: 0 }, limit: { llmTokens: null, usd: null } },
  });
});

test('work of an earlier epoch does not count in a later epoch', async () => {
  const { store, services, key, campaignId } = await beginCampaign('detect');
  await detectSignals(services)(key);
  await store.iterations.fence(campaignId);
  const later = { ...key, epoch: key.epoch + 1, phase: 'detect', previous: null } as const;
  await store.iterations.beginPhase(later);
  await expect(commitPhase(services)(later)).rejects.toMatchObject(missingWork('signals'));
});
