import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCampaignLogs, type LogFilter } from '../../../src/client/logs/campaign-logs';
import { entryOf } from '../../../src/client/logs/log-entry';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { findMissingLogs } from '../../../src/client/logs/missing-logs';
import type { Connections } from '../../../src/client/connections';
import { fullCampaign } from '../../store/support/campaign-rows';
import { freshDatabase } from '../../support/database';
import { logLine } from '../../../src/workers/worker-log';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'coevolve-logs-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (file: string, ...lines: string[]): void => {
  mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
  appendFileSync(path.join(home, file), lines.map((line) => `${line}\n`).join(''));
};
const job = 'artifacts/jobs/campaign/tidy/iteration/1/train/target';
const at = (second: number): string => `2026-01-31T09:00:${String(second).padStart(2, '0')}.000Z`;

/** A line as a worker writes it. */
const workerLine = (second: number, message: string, workflowId: string, meta: object = {}): string =>
  logLine({
    level: 'WARN',
    message,
    timestampNanos: BigInt(Date.parse(at(second))) * 1_000_000n,
    meta: { workflowId, taskToken: 'x'.repeat(300), ...meta },
  });

const read = async (filter: LogFilter = {}, files = new Map<string, number>(), isLast = true) =>
  (
    await readCampaignLogs(
      { home, artifacts: path.join(home, 'artifacts') },
      { name: 'tidy', id: 7 },
      { filter, read: files, isLast },
    )
  ).map(({ time, source, text }) => `${time} ${source} ${text}`);

test('the lines of workers, servers and training jobs that concern the campaign are merged by their times', async () => {
  write(
    'logs/worker-store.log',
    workerLine(5, 'Activity failed', 'campaign/tidy/iteration/1', {
      activityType: 'evaluatePolicy',
      error: new Error('no\nroom'),
    }),
    workerLine(6, 'Activity failed', 'campaign/tidy-2/iteration/1'),
    'worker store is ready, polling store',
  );
  write(
    'logs/environment-server.log',
    `${at(4)} ERROR coevolve bfcl of campaign/7: step failed`,
    `${at(4)} ERROR coevolve bfcl of campaign/77: step failed`,
    `${at(4)} ERROR coevolve bfcl of campaign/tidy: another holder`,
  );
  write('logs/supervisor.log', `${at(9)} worker-store: crashed (pid 3)`);
  const update = { step: 10, total_steps: 40, loss: 0.5123, tokens_per_s: 1840 };
  write(`${job}/progress.jsonl`, JSON.stringify({ event: 'step', time: at(3), ...update }));
  write(`${job}/progress.jsonl`, JSON.stringify({ event: 'checkpoint', time: at(7), step: 10, best: true }));
  write(`${job}/logs/trainer.log`, 'Traceback', '  ZeroDivisionError');
  utimesSync(path.join(home, job, 'logs/trainer.log'), Date.parse(at(8)) / 1000, Date.parse(at(8)) / 1000);
  write('artifacts/jobs/campaign/other/iteration/1/train/target/logs/trainer.log', 'of another campaign');

  const all = [
    `${at(3)} train 1/target step 10 of 40, loss 0.512, 1,840 tokens/s`,
    `${at(4)} environment-server ERROR coevolve bfcl of campaign/7: step failed`,
    `${at(5)} worker-store evaluatePolicy of campaign/tidy/iteration/1: Activity failed: Error: no`,
    `${at(7)} train 1/target checkpoint: step 10, best true`,
    `${at(8)} train 1/target Traceback`,
    `${at(8)} train 1/target   ZeroDivisionError`,
  ];
  expect(await read()).toEqual(all);
  expect(await read({ since: new Date(at(5)) })).toEqual(all.slice(2));
  expect(await read({ iteration: 2 })).toEqual([]);
  expect(await read({ job: '1/target' })).toEqual(all.filter((line) => line.includes('train')));
  expect(await read({ job: '1/failure' })).toEqual([]);
});

test('a log that grows, is renamed or ends within a line is returned once and in whole lines', async () => {
  const files = new Map<string, number>();
  const [first, second, third] = [1, 2, 3].map((n) => workerLine(n, `message ${n}`, 'campaign/tidy'));
  write('logs/worker-llm.log', first!);
  writeFileSync(path.join(home, 'logs/worker-llm.log'), second!.slice(0, 50), { flag: 'a' });
  const of = (n: number): string => `${at(n)} worker-llm campaign/tidy: message ${n}`;
  expect(await read({}, files, false)).toEqual([of(1)]);
  writeFileSync(path.join(home, 'logs/worker-llm.log'), second!.slice(50), { flag: 'a' });
  expect(await read({}, files, false)).toEqual([]);
  renameSync(path.join(home, 'logs/worker-llm.log'), path.join(home, 'logs/worker-llm.log.1'));
  write('logs/worker-llm.log', third!);
  expect(await read({}, files, true)).toEqual([of(2), of(3)]);
  expect(await read({}, files, true)).toEqual([]);
});

test('an error of a log is shown with its innermost cause, without brackets and braces', () => {
  const withoutStack = (message: string, cause?: Error): Error =>
    Object.assign(new Error(message, { cause }), { stack: `Error: ${message}`, activityId: '3' });
  const error = withoutStack('Activity task failed', withoutStack('Child failed', withoutStack('heartbeat timeout')));
  const line = workerLine(1, 'Workflow failed', 'campaign/tidy/iteration/1', { error });
  const entry = entryOf(line, { file: 'x', name: 'worker-store', iteration: null, job: null }, { name: 'tidy', id: 1 });
  expect(entry?.entry.text).toBe(
    'campaign/tidy/iteration/1: Workflow failed: Error: Activity task failed; cause: Error: heartbeat timeout',
  );
});

test('a worker logs one line of JSON with the campaign, its error with the cause and no task token', () => {
  const line = workerLine(1, 'Activity failed', 'campaign/tidy/iteration/2/train/target', {
    attempt: 3,
    error: new Error('outer\nproblem', { cause: new Error('inner') }),
  });
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    time: at(1),
    level: 'WARN',
    message: 'Activity failed',
    campaign: 'tidy',
    attempt: 3,
    workflowId: 'campaign/tidy/iteration/2/train/target',
    error: expect.stringMatching(/outer\nproblem[^]*inner/),
  });
  expect(JSON.parse(workerLine(1, 'x', 'elsewhere'))).not.toHaveProperty('campaign');
});

test('logs that are elsewhere are named with the next command: of other workers, of absent jobs that ran, of jobs in a cluster', async () => {
  const database = await freshDatabase();
  try {
    const { campaignId: id, name } = await fullCampaign(database.pool);
    const connections = { config: { home, artifacts: home }, pool: database.pool, artifacts: artifactStore(home) };
    const missing = (forkIteration: number | null) =>
      findMissingLogs(connections as unknown as Connections, { id, name, forkIteration });
    const worker = { what: expect.stringMatching(/no log of the workers workflow, store, rollout, llm, train:/) };
    const next = expect.stringContaining(`coevolve logs ${name}, on`);
    const folders = { what: expect.stringMatching(/^2 of 2 training jobs have no folder/), next };
    expect(await missing(null)).toEqual([{ ...worker, next }, folders]);
    for (const role of ['workflow', 'store', 'rollout', 'llm', 'train']) write(`logs/worker-${role}.log`, 'ready');
    expect(await missing(null)).toEqual([folders]);
    await database.pool.query(`update training_runs set status = 'submitted' where iteration = 1`);
    await database.pool.query(`delete from training_progress`); // the job has done nothing
    expect(await missing(null)).toMatchObject([{ what: expect.stringMatching(/^1 of 1 training jobs/) }]);
    await database.pool.query(
      `update training_runs set status = 'failed', failure = '{"type": "ended"}' where iteration = 1`,
    );
    expect(await missing(null)).toMatchObject([{ what: expect.stringMatching(/^1 of 1 training jobs/) }]); // an abort ended it
    expect(await missing(1)).toEqual([]); // a fork has no folders of the jobs that it copied
    await database.pool.query(`update training_runs set backend = 'kubernetes' where campaign_id = $1::integer`, [id]);
    const inPods = {
      what: expect.stringContaining('in its pods'),
      next: expect.stringMatching(/^kubectl logs .*=coevolve-/),
    };
    expect(await missing(null)).toMatchObject([{ what: expect.stringMatching(/^1 of 1 training jobs/) }, inPods]);
    const rows = `method = 'import', dataset_sha256 = null, dataset_uri = null`;
    for (const untrained of [
      `found_from = 'campaign/earlier/iteration/1/train/target'`,
      `found_from = null, ${rows}`,
    ]) {
      await database.pool.query(`update training_runs set ${untrained}`);
      expect(await missing(null)).toEqual([]); // there was nothing to train
    }
  } finally {
    await database.drop();
  }
});
