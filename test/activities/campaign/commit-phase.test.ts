import { buildPreferencePairs } from '../../../src/activities/pair/build-preference-pairs';
import { commitPhase } from '../../../src/activities/campaign/commit-phase';
import { detectSignals } from '../../../src/activities/detect/detect-signals';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { synthesizeTasks } from '../../../src/activities/synthesize/synthesize-tasks';
import type { Phase } from '../../../src/domain/campaign/phases';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../base/task-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** A campaign that finds nothing, in a phase that has begun: as a database is that was restored from before its work. */
async function begun(phase: Phase): Promise<TaskCampaign & { commit: () => Promise<string> }> {
  const campaign = await taskCampaign(database.pool);
  const phaseKey = { ...campaign.key, phase, previous: null };
  await campaign.store.iterations.beginPhase(phaseKey);
  return { ...campaign, commit: () => commitPhase(campaign.services)(phaseKey) };
}

const lacks = (what: string) => ({
  code: 'StateMismatch',
  message: expect.stringMatching(new RegExp(`lacks its work: ${what};.*coevolve reconcile`)),
});

test.each([
  { phase: 'detect', work: detectSignals, piece: 'signals' },
  { phase: 'pair', work: buildPreferencePairs, piece: 'pairs' },
] as const)('$phase that found nothing commits, and not when its work is gone', async ({ phase, work, piece }) => {
  const { commit, services, key } = await begun(phase);
  await expect(commit()).rejects.toMatchObject(lacks(piece));
  await work(services)(key);
  await work(services)(key);
  await expect(commit()).resolves.toEqual(expect.any(String));
});

test('synthesis commits when every aim was seen to and the validation is planned', async () => {
  const { commit, services, key } = await begun('synthesize');
  for (const aim of ['forgetting', 'rare'] as const) await synthesizeTasks(services)({ ...key, aim });
  await expect(commit()).rejects.toMatchObject(lacks('boundary, validation plan'));
  await planValidation(services)(key);
  await expect(commit()).rejects.toMatchObject(lacks('boundary'));
  await synthesizeTasks(services)({ ...key, aim: 'boundary' });
  await expect(commit()).resolves.toBe('candidates 0');
});

test('what a run of an earlier epoch did is no proof for a later one', async () => {
  const { store, services, key, campaignId } = await begun('detect');
  await detectSignals(services)(key);
  await store.iterations.fence(campaignId);
  const later = { ...key, epoch: key.epoch + 1, phase: 'detect', previous: null } as const;
  await store.iterations.beginPhase(later);
  await expect(commitPhase(services)(later)).rejects.toMatchObject(lacks('signals'));
});
