import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { readConfig } from '../../../src/config';
import { exportDataset, type ExportFormat, type ExportRequest } from '../../../src/training/data/export-dataset';
import { runsAll } from '../../support/lane';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../../store/support/campaign-rows';
import { addPolicy, attempt, hash, step, type NewCampaign } from '../../store/support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-export-'));
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
  await playAndTrain(campaign);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Stores two more demonstrations and pairs of two turns each, and a run of the failure agent. */
async function playAndTrain({ store, key, campaignId }: NewCampaign): Promise<void> {
  const opening = [
    { role: 'system', content: 'Write one SQL query at a time, then submit.' },
    { role: 'user', content: 'How many?' },
  ];
  const played = { purpose: 'train', policyId: ids.start, taskId: 'seed', opening } as const;
  for (const [number, reward] of [1, 0, 0.5].entries())
    await store.trajectories.save(
      attempt(key, {
        ...played,
        attempt: number + 1,
        reward,
        turns: [step(`select ${number}`), { ...step('submit'), observation: [] }],
      }),
    );
  const trajectory = (number: number) => `1/train/${ids.start.slice(0, 12)}/seed/${number}`;
  const pair = { forRole: 'failure', kind: 'failure-failure', taskId: 'seed', hardNegative: true } as const;
  const lambdas = { lambdaDpo: 1, lambdaSft: 0 };
  const [good, bad, fair] = [trajectory(1), trajectory(2), trajectory(3)];
  await store.preferencePairs.save(key, 'failure', {
    pairs: [
      { ...pair, ...lambdas, chosenId: good, rejectedId: bad, chosenReward: 1, rejectedReward: 0 },
      { ...pair, ...lambdas, chosenId: fair, rejectedId: bad, chosenReward: 0.5, rejectedReward: 0 },
    ],
    dropped: [],
  });
  const { rows } = await database.pool.query<{ id: string }>(
    `select id from preference_pairs where campaign_id = $1 and for_role = 'failure' order by id`,
    [campaignId],
  );
  const examples = [
    ...rows.map(({ id }) => ({ pairId: id, trajectoryId: null })),
    ...[good, fair].map((trajectoryId) => ({ trajectoryId, pairId: null })),
  ];
  await addPolicy(campaign, { id: hash('f'), role: 'failure', examples });
}

const request = (format: ExportFormat, changes: Partial<ExportRequest> = {}): ExportRequest => ({
  campaign: campaign.name,
  format,
  role: 'target',
  iteration: null,
  output: path.join(folder, `${format}.jsonl`),
  ...changes,
});

async function exported(exportRequest: ExportRequest) {
  const written = await exportDataset(campaign.store, database.pool, exportRequest);
  const text = readFileSync(exportRequest.output, 'utf8');
  const rows = text.trimEnd().split('\n');
  expect(written).toMatchObject({ rows: rows.length, bytes: Buffer.byteLength(text) });
  return { text, rows: rows.map((row) => JSON.parse(row) as Record<string, unknown>) };
}

test('a demonstration is exported as a conversation with the ids of its source', async () => {
  const { rows } = await exported(request('trl-sft'));
  expect(rows.map((row) => row['trajectory_id'])).toEqual([ids.expert, ids.validated]);
  expect(rows[0]).toMatchObject({
    messages: [
      { role: 'user', content: 'How many?' },
      { role: 'assistant', content: 'select 1' },
      { role: 'tool', content: 'ok' },
    ],
    task_id: 'seed',
    iteration: 0,
    purpose: 'expert',
    policy_id: 'reference',
    reward: 1,
    training_runs: [`campaign/${campaign.name}/${ids.start.slice(0, 8)}`],
  });
});

test('a pair is exported as a prompt and two conversations, with its weights and rewards', async () => {
  const { rows } = await exported(request('trl-dpo', { role: 'failure' }));
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatchObject({
    prompt: [{ role: 'system' }, { role: 'user', content: 'How many?' }],
    chosen: [{ role: 'assistant', content: 'select 0' }, { role: 'tool' }, { role: 'assistant', content: 'submit' }],
    rejected: [{ role: 'assistant', content: 'select 1' }, { role: 'tool' }, { role: 'assistant', content: 'submit' }],
    observations: 2,
    kind: 'failure-failure',
    task_id: 'seed',
    hard_negative: true,
    chosen_reward: 1,
    rejected_reward: 0,
    lambda_dpo: 1,
    lambda_sft: 0,
  });
});

test('integer rewards have a decimal point, so that the column has one type', async () => {
  const { text } = await exported(request('trl-dpo', { role: 'failure' }));
  expect(text).toContain('"chosen_reward":1.0,"rejected_reward":0.0,"lambda_dpo":1.0,"lambda_sft":0.0}');
  expect(text).toContain('"chosen_reward":0.5');
});

test('one iteration can be exported, and equal rows give equal bytes', async () => {
  const { rows } = await exported(request('trl-sft', { iteration: 1 }));
  expect(rows.map((row) => row['trajectory_id'])).toEqual([ids.validated]);
  const [one, other] = [await exported(request('trl-dpo')), await exported(request('trl-dpo'))];
  expect(other.text).toBe(one.text);
});

test('an export without rows keeps the existing file and fails with the next command', async () => {
  const before = await exported(request('trl-dpo'));
  await expect(
    exportDataset(campaign.store, database.pool, request('trl-dpo', { iteration: 9 })),
  ).rejects.toMatchObject({
    code: 'NothingToExport',
    message: expect.stringContaining(`\`coevolve status ${campaign.name}\``),
  });
  expect(readFileSync(request('trl-dpo').output, 'utf8')).toBe(before.text);
  expect(readdirSync(folder).filter((name) => name.includes('staging'))).toEqual([]);
});

test.each(runsAll ? (['trl-sft', 'trl-dpo'] as const) : (['trl-dpo'] as const))(
  'TRL loads a file of %s and trains a policy on it',
  async (format) => {
    const exportRequest = request(format, { role: 'failure', output: path.join(folder, `failure-${format}.jsonl`) });
    await exported(exportRequest);
    const script = path.join(__dirname, 'train_on_export.py');
    const work = mkdtempSync(path.join(folder, 'train-'));
    const { python } = readConfig({ PATH: process.env['PATH'] });
    const { stdout } = await promisify(execFile)(python, [script, format, exportRequest.output, work]);
    const printed = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as { losses: number[] };
    expect(printed).toMatchObject({ updates: 3, rows: 2, moved: true });
    expect(printed.losses.every(Number.isFinite)).toBe(true);
  },
);
