import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { prepareTraining } from '../../../src/activities/train/prepare-training';
import { trainingData, type TrainingSource } from '../../../src/activities/train/training-data';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { readingOf } from '../../../src/domain/rollout/reading';
import { sha256 } from '../../../src/files/sha256';
import { pairRow, trajectoryRow } from '../../../src/training/data/dataset-rows';
import { addPolicy, attempt, hash, step, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
let root: string;
let campaign: TaskCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-training-data-'));
  campaign = await playedCampaign();
});
afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await database.drop();
});

const taskCount = 230; // more than a page
const taskIds = Array.from({ length: taskCount }, (_, n) => `task-${n}`);
const policyId = hash('a');

/** An expert and six attempts at each task; attempts 0 and 2, and attempts 1 and 3, have the same actions. */
async function playedCampaign(): Promise<TaskCampaign> {
  const made = await taskCampaign(database.pool);
  const { store, key } = made;
  await store.tasks.seed(
    key,
    taskIds.map((id) => task(id)),
  );
  await addPolicy(made, { id: policyId });
  for (const [n, taskId] of taskIds.entries()) {
    await store.trajectories.save(attempt(key, { taskId, turns: [step(`expert, "${n}"`)] }));
    for (const k of [0, 1, 2, 3, 4, 5]) {
      const played = { purpose: 'train', taskId, policyId, attempt: k, reward: k < 4 ? 1 : 0.25 } as const;
      await store.trajectories.save(attempt(key, { ...played, turns: [step(`{"a": ${k % 2}}`), step(`é ${n % 7}`)] }));
    }
  }
  const pairs = taskIds.map((taskId) => ({
    forRole: 'target' as const,
    kind: 'expert-target' as const,
    taskId,
    hardNegative: false,
    chosenId: `1/expert/reference/${taskId}/0`,
    rejectedId: `1/train/${policyId.slice(0, 12)}/${taskId}/4`,
    chosenReward: 1,
    rejectedReward: 0.25,
    lambdaDpo: 0.5,
    lambdaSft: 0.5,
  }));
  await store.preferencePairs.save(key, 'target', { pairs, dropped: [] });
  return made;
}

/** Returns the lines that all rows in memory give. */
async function expectedLines(data: TrainingSource): Promise<string[]> {
  const { store, campaignId, spec } = campaign;
  const reading = readingOf(spec);
  const trajectoryOf = (id: string) => store.trajectories.get(campaignId, id);
  const lines: string[] = [];
  if (data.startsWith('pairs'))
    for (const pair of await store.preferencePairs.list(campaignId, 1)) {
      const sides = { chosen: await trajectoryOf(pair.chosenId), rejected: await trajectoryOf(pair.rejectedId) };
      lines.push(JSON.stringify(pairRow(pair, sides, reading)));
    }
  if (data !== 'pairs')
    for (const { trajectoryId } of await store.trajectories.listExperts(campaignId))
      lines.push(JSON.stringify(trajectoryRow(await trajectoryOf(trajectoryId), reading)));
  if (data !== 'expert-and-successes') return lines;
  const seen = new Set<string>();
  for (const { trajectoryId, taskId, actions, reward } of await store.trajectories.listScored(campaignId, 1)) {
    const solution = JSON.stringify([taskId, actions]);
    if (reward < 1 || seen.has(solution)) continue;
    seen.add(solution);
    lines.push(JSON.stringify({ ...trajectoryRow(await trajectoryOf(trajectoryId), reading), reward }));
  }
  return lines;
}

test.each([
  { data: 'expert', rows: taskCount },
  { data: 'expert-and-successes', rows: 3 * taskCount },
  { data: 'pairs', rows: taskCount },
  { data: 'pairs-and-experts', rows: 2 * taskCount },
] as const)('a dataset of $data that is written page by page has the bytes of all rows', async ({ data, rows }) => {
  const { services, campaignId, spec } = campaign;
  const request = {
    campaignId,
    iteration: 1,
    role: 'target',
    data,
    successReward: 1,
    failedExperts: 'drop',
    reading: readingOf(spec),
  } as const;
  const { lines, examples } = await trainingData(services, request);
  const saved = await artifactStore(root).saveDataset(lines);

  const text = (await expectedLines(data)).map((line) => `${line}\n`).join('');
  expect(readFileSync(saved.path, 'utf8')).toBe(text);
  expect(saved.sha256).toBe(sha256(text));
  const ids = text.split('\n').slice(0, -1).map(idOfLine);
  expect(ids).toHaveLength(rows);
  expect(examples.map(({ pairId, trajectoryId }) => pairId ?? trajectoryId)).toEqual(ids);
});

test('experts that their replay scores 0 are left out of a dataset unless the spec keeps them, and without others it is refused', async () => {
  const made = await taskCampaign(database.pool);
  const { services, store, key, campaignId, spec } = made;
  await store.tasks.seed(key, [task('right'), task('wrong'), task('half')]);
  const idsOf = async (failedExperts: 'drop' | 'keep') => {
    const request = {
      campaignId,
      iteration: 0,
      role: 'base',
      data: 'expert',
      successReward: 1,
      failedExperts,
    } as const;
    const { examples } = await trainingData(services, { ...request, reading: readingOf(spec) });
    return examples.map(({ trajectoryId }) => trajectoryId);
  };
  const prepared = () =>
    prepareTraining(services)({ ...key, iteration: 0, role: 'base', method: 'init', data: 'expert', from: 'base' });
  await store.trajectories.save(attempt(key, { taskId: 'wrong', turns: [step('expert')], reward: 0 }));
  await expect(prepared()).rejects.toMatchObject({
    code: 'NothingScored',
    message: expect.stringContaining('the replays of all 1 experts scored 0') as string,
  });
  await store.trajectories.save(attempt(key, { taskId: 'half', turns: [step('expert')], reward: 0.5 }));
  await store.trajectories.save(attempt(key, { taskId: 'right', turns: [step('expert')], reward: 1 }));
  const [half, right, wrong] = ['half', 'right', 'wrong'].map((id) => `1/expert/reference/${id}/0`);
  expect(await idsOf('drop')).toEqual([half, right]);
  expect(await idsOf('keep')).toEqual([half, right, wrong]);
});

const idOfLine = (line: string): string => {
  const row = JSON.parse(line) as { pair_id?: string; trajectory_id?: string };
  return (row.pair_id ?? row.trajectory_id)!;
};
