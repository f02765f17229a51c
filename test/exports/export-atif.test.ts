import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportAtif } from '../../src/exports/export-atif';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { ids } from '../store/support/campaign-rows';
import type { NewCampaign } from '../store/support/new-campaign';
import { evaluatedCampaign, heldOut } from './evaluated-campaign';
import { runPython } from './run-python';

let database: FreshDatabase;
let campaign: NewCampaign;
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-export-atif-'));
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await evaluatedCampaign(database.pool);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const request = (name: string, iteration: number | null = null) => ({
  campaign: campaign.name,
  iteration,
  version: '1.2.3',
  output: path.join(folder, name),
});

type Trajectory = Record<string, unknown> & { trajectory_id: string };

test('every attempt with a message is a valid trajectory of ATIF', async () => {
  const { rows, output } = await exportAtif(campaign.store, database.pool, request('all.jsonl'));
  const read = await runPython<Trajectory[]>('.venv', 'read_atif.py', output);
  expect(read.map(({ trajectory_id: id }) => id)).toEqual([ids.expert, heldOut.solved, ids.failed, ids.validated]);
  expect(rows).toBe(4);
});

test("a turn has the action apart from its thinking, the policy's tokens and its observation", async () => {
  const { output } = await exportAtif(campaign.store, database.pool, request('turns.jsonl'));
  const read = await runPython<Trajectory[]>('.venv', 'read_atif.py', output);
  const metrics = {
    prompt_tokens: 3,
    completion_tokens: 2,
    prompt_token_ids: [1, 2, 3],
    completion_token_ids: [4, 5],
    logprobs: [-0.5, -0.25],
  };
  const observation = { results: [{ content: 'ok', extra: { role: 'tool' } }] };
  expect(read.find(({ trajectory_id: id }) => id === heldOut.solved)).toMatchObject({
    session_id: `${campaign.name}/${heldOut.solved}`,
    agent: {
      name: 'coevolve',
      version: '1.2.3',
      model_name: ids.trained,
      tool_definitions: [{ type: 'function', function: { name: 'run', parameters: {} } }],
    },
    steps: [
      { step_id: 1, source: 'system', message: 'Write one query.' },
      { step_id: 2, source: 'user', message: 'How many?' },
      {
        step_id: 3,
        source: 'agent',
        message: 'select 1',
        reasoning_content: '<think>Count them.</think>',
        llm_call_count: 1,
        metrics,
        observation,
      },
      { step_id: 4, source: 'agent', message: 'submit', metrics, observation },
    ],
    final_metrics: { total_steps: 4, total_prompt_tokens: 3, extra: { reward: 1, seconds: 0.5 } },
    extra: { campaign: campaign.name, task_id: 'held', purpose: 'evaluation', outcome: 'scored' },
  });
});

test('reference actions are no calls of a model', async () => {
  const { output } = await exportAtif(campaign.store, database.pool, request('reference.jsonl', 0));
  const [expert] = await runPython<Trajectory[]>('.venv', 'read_atif.py', output);
  expect(expert).toMatchObject({ agent: { model_name: 'reference' }, steps: [{}, { llm_call_count: 0 }] });
  expect(readFileSync(output, 'utf8')).not.toContain('"metrics"');
});

test('an iteration without attempts keeps the existing file', async () => {
  const { output } = await exportAtif(campaign.store, database.pool, request('kept.jsonl'));
  const before = readFileSync(output, 'utf8');
  await expect(exportAtif(campaign.store, database.pool, request('kept.jsonl', 9))).rejects.toMatchObject({
    code: 'NothingToExport',
    message: expect.stringContaining(`\`coevolve attempts ${campaign.name}\``),
  });
  expect(readFileSync(output, 'utf8')).toBe(before);
});
