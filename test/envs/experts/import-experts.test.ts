import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { environmentData } from '../../../src/envs/server/environment-data';
import { loadExperts, saveExperts } from '../../../src/envs/experts/expert-file';
import { expertRow } from '../../../src/envs/experts/expert-rows';
import { playReferenceActions, type ReferenceRequest } from '../../../src/envs/experts/reference-trajectories';
import { importExperts } from '../../../src/envs/experts/import-experts';
import { readConversations } from '../../../src/envs/experts/read-conversations';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

let server: EnvironmentServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-experts-'));
  server = await startEnvironmentServer('--environments', 'intercode-sql,bfcl', '--state', folder);
});
afterAll(async () => {
  await server.kill();
  rmSync(folder, { recursive: true });
});

const request: ReferenceRequest = { split: 'train', count: 24, seed: 5, options: {}, form: 'react' };
const sql = 'intercode-sql';

async function importRows(rows: readonly string[], { replay = true, taskOf = new Map<string, string>() } = {}) {
  const tasks = await environmentData(server).tasks(sql, request);
  const { conversations } = readConversations(rows.join('\n'), 'eto');
  const settings = { environment: sql, taskOf, above: 0.7, sessions: 4 };
  return importExperts(replay ? openEnvClient(server) : null, tasks, conversations, settings);
}

test.each([sql, 'bfcl'])(
  'the reference actions of %s are played in batches, each task once, with reward 1',
  async (environment) => {
    const progress: number[] = [];
    const played = await playReferenceActions(server, environment, request, {
      onProgress: (done) => progress.push(done),
    });
    expect(progress).toEqual([10, 20, 24]);
    expect(new Set(played.map(({ task_id: id }) => id)).size).toBe(24);
    expect(played.every(({ reward }) => reward === 1)).toBe(true);
    expect(played.every(({ conversation }) => conversation.some(({ content }) => content.startsWith('Action: ')))).toBe(
      true,
    );
  },
);

test('imported experts have the reward of their replay, not the claimed one', async () => {
  const played = await playReferenceActions(server, sql, request);
  const correct = played.slice(0, 10).map((expert) => expertRow({ ...expert, reward: 0.9 }, 'eto'));
  const [overrated, duplicate, unknownTask] = [played[10]!, played[0]!, played[11]!];
  const wrong = overrated.conversation.map((message) =>
    message.role === 'assistant' && message.content !== 'Action: submit'
      ? { ...message, content: "Action: SELECT 'nothing'" }
      : message,
  );
  const others = [{ ...overrated, conversation: wrong }, duplicate, { ...unknownTask, task_id: 'unknown-task' }];
  const { experts, refused } = await importRows([...correct, ...others.map((expert) => expertRow(expert, 'eto'))]);
  expect(experts).toHaveLength(10);
  expect(experts.every((expert) => expert.reward === 1 && expert.claimed_reward === 0.9 && expert.replayed)).toBe(true);
  expect(refused.map(({ reason }) => reason)).toEqual([
    'replayed reward 0 is not above 0.7',
    'another conversation of its task is kept',
    `no train task unknown-task among the 24 that these options give; an id has the form of ${played[0]!.task_id}`,
  ]);
});

test('an answer before the opening of the task is no action, whatever it says', async () => {
  const [expert] = await playReferenceActions(server, sql, { ...request, count: 1 });
  const row = expertRow(expert!, 'eto').replace('"value":"OK"', '"value":"At your service, captain."');
  const { experts, leftOut } = await importRows([row]);
  const actions = expert!.conversation.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
  expect(experts.map((one) => one.actions)).toEqual([actions]);
  expect(leftOut).toBe(1);
});

test('an expert whose actions do not end the episode is rejected', async () => {
  const [expert] = await playReferenceActions(server, sql, { ...request, count: 1 });
  const open = { ...expert!, conversation: expert!.conversation.filter(({ content }) => content !== 'Action: submit') };
  const { refused } = await importRows([expertRow(open, 'eto')]);
  expect(refused[0]!.reason).toMatch(/not over after its 1 actions/);
});

test('ids are mapped to task ids, and without a replay the claimed reward is used', async () => {
  const [expert] = await playReferenceActions(server, sql, { ...request, count: 1 });
  const row = expertRow({ ...expert!, task_id: 'webshop_0', reward: 0.75 }, 'eto');
  const { experts } = await importRows([row], { replay: false, taskOf: new Map([['webshop_0', expert!.task_id]]) });
  expect(experts).toMatchObject([{ task_id: expert!.task_id, reward: 0.75, claimed_reward: 0.75, replayed: false }]);
});

test('stored experts are identified by the hash of their content and loaded only if the file is intact', async () => {
  const played = await playReferenceActions(server, sql, { ...request, count: 3 });
  const { experts } = await importRows(played.map((one) => expertRow(one, 'eto')));
  const artifacts = artifactStore(path.join(folder, 'artifacts'));
  const { sha256, path: file } = await saveExperts(artifacts, experts);
  expect((await saveExperts(artifacts, experts.toReversed())).sha256).toBe(sha256);
  expect([...(await loadExperts(artifacts, sha256, sql)).keys()].sort()).toEqual(
    played.map(({ task_id: id }) => id).sort(),
  );
  await expect(loadExperts(artifacts, sha256, 'bfcl')).rejects.toMatchObject({ code: 'WrongEnvironment' });
  writeFileSync(file, readFileSync(file, 'utf8').replace('Action', 'action'));
  await expect(loadExperts(artifacts, sha256, sql)).rejects.toMatchObject({ code: 'UnknownExperts' });
  await expect(loadExperts(artifacts, 'f'.repeat(64), sql)).rejects.toMatchObject({ code: 'UnknownExperts' });
});
