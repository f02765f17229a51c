import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { createEnvironments } from '../../../src/envs/environments';
import { policyClient } from '../../../src/llm/policy-client';
import { hasOpenEnv, startThirdPartyServer, whyNot, type ThirdPartyServer } from '../../support/third-party-server';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { inActivity } from '../base/in-activity';
import { startJudging, type JudgedCampaigns } from './judged-campaign';
import { startScriptedPolicy, type ScriptedPolicy } from './scripted-policy';

const real = hasOpenEnv ? test : test.skip;
if (!hasOpenEnv) process.stderr.write(`${whyNot}\n`);

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-third-party-'));
let judging: JudgedCampaigns;
let thirdParty: ThirdPartyServer;
let policy: ScriptedPolicy;

beforeAll(async () => {
  if (!hasOpenEnv) return;
  [judging, thirdParty, policy] = await Promise.all([
    startJudging(),
    startThirdPartyServer('--sessions', '2'),
    startScriptedPolicy(),
  ]);
  const file = path.join(folder, 'environments.yaml');
  writeFileSync(file, JSON.stringify({ servers: { guess: { url: thirdParty.url, sessions: 4 } } })); // two more than the server allows
  const environment = { url: 'http://127.0.0.1:9' }; // never called
  const { open, data } = createEnvironments({ environment, environmentsFile: file });
  const policies = policyClient({ url: policy.url });
  Object.assign(judging.services, { openEnvironment: open, environmentData: data, policies });
});
afterAll(async () => {
  policy?.stop();
  await Promise.all([judging?.stop(), thirdParty?.kill()]);
  rmSync(folder, { recursive: true, force: true });
});

real('a campaign plays the tasks of a server that uses the official package', async () => {
  const environment = { name: 'guess', trainTasks: 20, heldOutTasks: 20, maxTurns: 4 };
  const changes = {
    environment,
    recipe: 'eto',
    llm: null,
    start: 'base',
    policy: { source: 'imported', model: 'any' },
  };
  const { key, name } = await judging.start(changes as Parameters<typeof judging.start>[0]);
  const { services, pool } = judging;
  const { store } = services;
  const tasks = await store.tasks.list(key.campaignId, { split: 'train' });
  expect(tasks).toHaveLength(20);
  expect(tasks.flatMap(({ referenceActions }) => referenceActions)).toEqual([]);

  await store.tasks.plan(
    key,
    'train',
    tasks.map(({ id }) => id),
  );
  const policyId = await addPolicy({ store, pool, campaignId: key.campaignId, name, key }, { id: hash('c') });
  policy.setScript(['50', '2', 'seven', '7']); // with the secrets of train tasks 0 and 1, and an invalid guess
  const input = { ...key, purpose: 'train' as const, policyId, step: 0, from: 0, to: 20 };
  await expect(inActivity(() => collectRollouts(services)(input))).resolves.toEqual({ attempts: 80, found: 0 });

  const { rows } = await pool.query<{ outcome: string; reward: number; turns: number; count: number }>(
    `select outcome, reward, turn_count as turns, count(*)::int from trajectories
     where campaign_id = $1 group by 1, 2, 3 order by 2 desc, 3`,
    [key.campaignId],
  );
  expect(rows).toEqual([
    { outcome: 'scored', reward: 1, turns: 2, count: 4 },
    { outcome: 'scored', reward: 1, turns: 4, count: 4 },
    { outcome: 'scored', reward: 0, turns: 4, count: 72 },
  ]);
});
