import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { gaugeGroups } from '../../src/server/metrics/gauges';
import type { MetricsSources } from '../../src/server/metrics/metrics';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { until } from '../support/stack';
import { fullCampaign } from '../store/support/campaign-rows';
import { finishedCampaign } from '../store/support/sound-campaign';
import { trainingRun, type NewCampaign } from '../store/support/new-campaign';
import { runServer, type TestServer } from './running-server';

let database: FreshDatabase;
let campaign: NewCampaign;
let server: TestServer;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
  server = await runServer(database.url, { sources });
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

const sources: Pick<MetricsSources, 'queues' | 'freeBytes'> = {
  queues: () =>
    Promise.resolve([{ queue: 'train', type: 'activity', pollers: ['1@host'], backlog: 3, backlogAge: 8.9 }]),
  freeBytes: () => Promise.resolve(5e9),
};

/** Returns the values of a metric by its labels. */
async function valuesOf(name: string, from = server): Promise<Map<string, number>> {
  const text = await (await from.request('/metrics')).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return new Map(lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

const valueOf = async (name: string, label: string): Promise<number | undefined> =>
  [...(await valuesOf(name))].find(([labels]) => labels.includes(label))?.[1];

test('metrics need a token and have no label of Prometheus itself', async () => {
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  const response = await server.request('/metrics');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  const text = await response.text();
  expect(text).toContain('# TYPE coevolve_campaign_info gauge');
  expect(text).not.toMatch(/[{,](?:job|instance|namespace)="/);
});

test('a parked campaign shows its code and since when it waits, and again without them when it goes on', async () => {
  const { pool } = database;
  const { campaignId, name } = campaign;
  await pool.query(`update campaigns set status = 'parked' where id = $1`, [campaignId]);
  await pool.query(
    `insert into events (campaign_id, kind, actor, detail, recorded_at)
     values ($1, 'parked', 'coevolve', '{"reason": "full", "code": "DiskFull"}', now() - interval '700 s')`,
    [campaignId],
  );
  const parked = `{campaign="${name}",state="parked",code="DiskFull"}`;
  expect((await valuesOf('coevolve_campaign_state')).get(parked)).toBe(1);
  expect((await valuesOf('coevolve_campaign_waiting_seconds')).get(parked)).toBeGreaterThanOrEqual(700);
  await pool.query(`update campaigns set status = 'running' where id = $1`, [campaignId]);
  expect([...(await valuesOf('coevolve_campaign_state')).keys()]).toEqual([
    `{campaign="${name}",state="running",code=""}`,
  ]);
  expect(await valuesOf('coevolve_campaign_waiting_seconds')).toEqual(new Map());
});

test('a running job has gauges by campaign and role, and none after its end', async () => {
  const { pool } = database;
  const { store, key, name } = campaign;
  const job = { jobKey: `campaign/${name}/iteration/1/train/failure`, epoch: key.epoch };
  await store.trainingRuns.save(key, trainingRun(job.jobKey, { role: 'failure' }), []);
  const labels = `campaign="${name}",iteration="1",role="failure"`;
  expect(await valueOf('coevolve_training_loss', labels)).toBeUndefined();
  await store.trainingProgress.save(job, [
    { step: 4, loss: 0.7 },
    { step: 8, loss: 0.5, tokens_per_s: 1200 },
  ]);
  await pool.query(`update training_progress set recorded_at = now() - interval '601 s' where job_key = $1`, [
    job.jobKey,
  ]);
  expect(await valueOf('coevolve_training_update', labels)).toBe(8);
  expect(await valueOf('coevolve_training_loss', labels)).toBe(0.5);
  expect(await valueOf('coevolve_training_tokens_per_s', labels)).toBe(1200);
  expect(await valueOf('coevolve_training_idle_seconds', labels)).toBeGreaterThan(600);
  await pool.query(`update training_runs set status = 'failed' where job_key = $1`, [job.jobKey]);
  expect(await valueOf('coevolve_training_loss', labels)).toBeUndefined();
});

test('a reinforcement job that waits for attempts is not idle', async () => {
  const { pool } = database;
  const { store, key, name } = campaign;
  const job = { jobKey: `campaign/${name}/iteration/1/train/rl`, epoch: key.epoch };
  await store.trainingRuns.save(
    key,
    trainingRun(job.jobKey, { role: 'positive', method: 'grpo', datasetSha256: null, datasetUri: null }),
    [],
  );
  await store.trainingProgress.save(job, [{ step: 1, loss: -0.1 }]);
  expect(await valueOf('coevolve_training_update', 'role="positive"')).toBe(1);
  expect(await valueOf('coevolve_training_idle_seconds', 'role="positive"')).toBeUndefined();
  await pool.query(
    `insert into rl_steps (job_key, step, dataset_sha256, dataset_rows, submitted_at) values ($1, 2, 'd', 1, now() + interval '1 s')`,
    [job.jobKey],
  );
  expect(await valueOf('coevolve_training_idle_seconds', 'role="positive"')).toBeLessThan(10);
});

test('two servers give equal numbers', async () => {
  const other = await runServer(database.url, { sources });
  try {
    for (const name of ['coevolve_attempts', 'coevolve_heldout_success', 'coevolve_budget_committed']) {
      const values = await valuesOf(name);
      expect(values.size).toBeGreaterThan(0);
      expect(await valuesOf(name, other)).toEqual(values);
    }
  } finally {
    await other.close();
  }
});

test('the rows that break an invariant are counted by campaign and kind', async () => {
  const audited = await freshDatabase();
  try {
    const { campaignId, name } = await finishedCampaign(audited.pool);
    const violations = async (): Promise<Record<string, number>> => {
      const one = await runServer(audited.url, { sources });
      try {
        const counted = await until(async () => {
          const values = await valuesOf('coevolve_invariant_violations', one);
          return values.size > 0 && values;
        });
        return Object.fromEntries(counted);
      } finally {
        await one.close();
      }
    };
    const labels = (kind: string): string => `{campaign="${name}",kind="${kind}"}`;
    const sound = { [labels('lost')]: 0, [labels('duplicated')]: 0, [labels('wrong')]: 0 };
    expect(await violations()).toEqual(sound);
    await audited.pool.query(`delete from trajectory_turns where campaign_id = $1`, [campaignId]);
    const broken = await violations();
    expect(Object.keys(broken)).toEqual(Object.keys(sound));
    expect(Math.max(...Object.values(broken))).toBeGreaterThan(0);
  } finally {
    await audited.drop();
  }
});

test('queues and free space are shown, and a source that fails hides its own gauges alone', async () => {
  expect(await valueOf('coevolve_task_queue_backlog', 'queue="train",type="activity"')).toBe(3);
  expect(await valueOf('coevolve_task_queue_pollers', 'queue="train"')).toBe(1);
  expect((await valuesOf('coevolve_artifacts_free_bytes')).get('')).toBe(5e9);
  const broken = await runServer(database.url, {
    sources: { ...sources, queues: () => Promise.reject(new Error('no answer')) },
  });
  try {
    const up = await valuesOf('coevolve_source_up', broken);
    expect(Object.fromEntries(up)).toEqual({
      '{source="database"}': 1,
      '{source="temporal"}': 0,
      '{source="artifacts"}': 1,
    });
    expect(await valuesOf('coevolve_task_queue_backlog', broken)).toEqual(new Map());
    expect((await valuesOf('coevolve_campaign_info', broken)).size).toBe(1);
  } finally {
    await broken.close();
  }
});

const folder = path.resolve(__dirname, '../../deploy/observability');

test('alerts and board use metrics that exist, and every runbook is an anchor of the docs', async () => {
  const alerts = readFileSync(path.join(folder, 'alerts.yml'), 'utf8');
  const { groups } = parse(alerts) as { groups: { rules: { expr: string; annotations: { runbook: string } }[] }[] };
  const script = path.resolve(folder, '../../scripts/write-board.mjs');
  const { board, panels } = (await import(script)) as { board: () => string; panels: string[][] };
  const scraped = await (await server.request('/metrics')).text();
  const known = new Set([
    ...[...scraped.matchAll(/# TYPE (\w+)/g)].map(([, name]) => name),
    ...gaugeGroups.flatMap(({ gauges }) => Object.keys(gauges).map((name) => `coevolve_${name}`)),
    'coevolve_invariant_violations', // counted after the first scrape
  ]);
  const rules = groups.flatMap((group) => group.rules);
  for (const expression of [...rules.map(({ expr }) => expr), ...panels.map(([, , expr]) => expr!)])
    for (const [name] of expression.matchAll(/coevolve_\w+/g)) expect(known).toContain(name);
  for (const { annotations } of rules) {
    const [file, anchor] = annotations.runbook.split('#') as [string, string?];
    const page = readFileSync(path.resolve(folder, '../..', file), 'utf8');
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    if (anchor) expect(anchors).toContain(anchor);
  }
  expect(readFileSync(path.join(folder, 'board.json'), 'utf8')).toBe(board());
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

test.runIf(promtool)('Prometheus accepts the metrics, and each alert fires when it must and not before', async () => {
  const text = await (await server.request('/metrics')).text();
  expect(spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
  const rules = spawnSync('promtool', ['test', 'rules', path.join(folder, 'alerts.test.yml')], { encoding: 'utf8' });
  expect(rules).toMatchObject({ status: 0 });
});
