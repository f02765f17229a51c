import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { Pool } from 'pg';
import { readConfig, type Config } from '../../src/config';
import type { Range } from '../../src/domain/concurrency';
import { activitySizes, shardsOf } from '../../src/domain/rollout/activity-ranges';
import { campaignSpecSchema } from '../../src/specification/campaign-spec';
import { campaignOf } from '../../src/specification/read-spec';
import { stackDown, stackUp } from '../../src/stack';
import { workersWithNumber } from '../../src/stack/node-services';
import { readState } from '../../src/stack/stack-state';
import { startService } from '../../src/stack/start-service';
import { createStore, type Store } from '../../src/store';
import type { IterationKey } from '../../src/store/database/epoch';
import { migrate } from '../../src/store/database/migrate';
import { createPool } from '../../src/store/database/pool';
import { connectClient } from '../../src/temporal/connect';
import type { rollout } from '../../src/workflows';
import { processorSeconds } from './processor-time';
import { startSleepingServers, type SleepingServers } from './sleeping-servers';

const { History } = temporal.api.history.v1;
type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

export type Played = {
  /** From the start of the workflow to its end. */
  seconds: number;
  /** Attempts of each worker process, in descending order. */
  shares: number[];
  /** Of the histories of all shards. */
  events: number;
  historyBytes: number;
  /** Processor milliseconds of an attempt by service, with its child processes. */
  cpuMs: Record<string, number>;
  /** Transactions of the database for an attempt. */
  transactions: number;
};

export type Service = {
  /** Plays this many attempts in a campaign of its own, like an evaluation. */
  play(attempts: number): Promise<Played>;
};

type Load = {
  workers: number;
  /** Of each worker. */
  places: number;
  /** Actions of an attempt. */
  turns: number;
};

/** Services of the rollouts beside their workers. */
const services = ['postgres', 'temporal', 'worker-workflow'] as const;
const environment = 'sleep';

/** Runs `work` with a stack that plays at sleeping servers, and removes it. */
export async function withService(
  load: Load,
  work: (service: Service, servers: SleepingServers) => Promise<void>,
): Promise<void> {
  const servers = await startSleepingServers(load.turns);
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-bench-'));
  const bare = configOf(home, servers, load);
  try {
    const config = await stackUp(bare, {
      services,
      beforeWorkers: async ({ databaseUrl, projectRoot }) => void (await migrate(databaseUrl!, projectRoot)),
    });
    for (let n = 1; n <= load.workers; n++) {
      const worker = workersWithNumber(n).find(({ name }) => name.startsWith('worker-rollout'))!;
      await startService({ config: bare, state: readState(home) }, worker, () => undefined);
    }
    const [pool, client] = [createPool(config.databaseUrl!), await connectClient(config)];
    await work({ play: (attempts) => measure(bare, pool, () => play(pool, client, attempts), attempts) }, servers);
    await Promise.all([pool.end(), client.connection.close()]);
  } finally {
    servers.close();
    await stackDown(bare);
    rmSync(home, { recursive: true, force: true });
  }
}

function configOf(home: string, servers: SleepingServers, { workers, places, turns }: Load): Config {
  const environments = path.join(home, 'environments.json');
  const server = { url: servers.environmentUrl, action: 'text', sessions: workers * places, maxTurns: turns };
  writeFileSync(environments, JSON.stringify({ servers: { [environment]: server } }));
  return readConfig({
    PATH: process.env['PATH'],
    COEVOLVE_HOME: home,
    COEVOLVE_ENVIRONMENTS_FILE: environments,
    COEVOLVE_ENVIRONMENT_URL: servers.environmentUrl,
    COEVOLVE_POLICY_URL: servers.policyUrl,
    COEVOLVE_ATTEMPTS: String(places),
  });
}

/** Adds to a rollout its processor time and its transactions. */
async function measure(
  config: Config,
  pool: Pool,
  work: () => Promise<Omit<Played, 'cpuMs' | 'transactions'>>,
  attempts: number,
): Promise<Played> {
  const before = { cpu: processorSeconds(config), transactions: await countTransactions(pool) };
  const played = await work();
  const cpu = processorSeconds(config);
  const transactions = (await countTransactions(pool)) - before.transactions;
  const perAttempt = ([name, seconds]: [string, number]): [string, number] => [
    name,
    (1000 * (seconds - (before.cpu[name] ?? 0))) / attempts,
  ];
  const cpuMs = Object.fromEntries(Object.entries(cpu).map(perAttempt));
  return { ...played, cpuMs, transactions: transactions / attempts };
}

/** Returns the committed transactions of the database, once the backends have reported theirs. */
async function countTransactions(pool: Pool): Promise<number> {
  await sleep(1_500); // they report once a second at most
  const { rows } = await pool.query<{ n: number }>(
    'select xact_commit::integer as n from pg_stat_database where datname = current_database()',
  );
  return rows[0]!.n;
}

async function play(pool: Pool, client: Client, attempts: number): Promise<Omit<Played, 'cpuMs' | 'transactions'>> {
  const { key, policyId } = await planEvaluation(createStore(pool), attempts);
  const sizes = activitySizes(1);
  const batch = { ...key, environment, purpose: 'evaluation' as const, policyId, step: 0, end: attempts, ...sizes };
  const startedAt = performance.now();
  const shards = await Promise.all(
    shardsOf({ from: 0, to: attempts }, sizes).map((range, n) =>
      client.workflow.start<typeof rollout>('rollout', {
        workflowId: `campaign/bench-${key.campaignId}/${n}`,
        taskQueue: 'workflow',
        args: [{ ...batch, ...range }],
      }),
    ),
  );
  await Promise.all(shards.map((shard) => shard.result()));
  const seconds = (performance.now() - startedAt) / 1000;
  const stored = await pool.query('select from trajectories where campaign_id = $1', [key.campaignId]);
  if (stored.rowCount !== attempts) throw new Error(`${stored.rowCount} of ${attempts} attempts are stored`);
  const histories = await Promise.all(shards.map((shard) => shard.fetchHistory()));
  const events = histories.flatMap((history) => history.events ?? []);
  const historyBytes = histories.reduce((sum, history) => sum + History.encode(history).finish().length, 0);
  return { seconds, events: events.length, historyBytes, shares: sharesOf(events) };
}

/** Stores a campaign with a plan of this many tasks, each of which is played once. */
async function planEvaluation(store: Store, attempts: number): Promise<{ key: IterationKey; policyId: string }> {
  const name = `bench-${randomUUID()}`;
  const settings = { name, seed: 1, recipe: 'eto', environment: { name: environment }, start: 'base' };
  const spec = { ...campaignSpecSchema.parse(settings), iterations: 1 };
  const { id: campaignId } = await store.campaigns.save(campaignOf(spec));
  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const ids = Array.from({ length: attempts }, (_, n) => `task-${n}`);
  const task = {
    environment,
    split: 'held-out' as const,
    origin: 'seed' as const,
    goal: 'Act.',
    features: {},
    referenceActions: [],
    parentTaskId: null,
    parentSignalId: null,
  };
  const tasks = ids.map((id, n) => ({ ...task, id, definition: { reset: { seed: n } }, contentKey: id }));
  await store.tasks.seed(key, tasks);
  await store.tasks.plan(key, 'evaluation', ids);
  return { key, policyId: await addPolicy(store, key, name) };
}

/** Stores a policy with the run that trained it, and returns its id. */
async function addPolicy(store: Store, key: IterationKey, name: string): Promise<string> {
  const id = randomUUID().replaceAll('-', '').repeat(2);
  const jobKey = `campaign/${name}/train`;
  const run = {
    jobKey,
    role: 'target',
    method: 'sft',
    basePolicy: null,
    settings: {},
    seed: 1,
    backend: 'local',
  } as const;
  const dataset = { datasetSha256: id, datasetUri: 'file:///none', datasetRows: 1 };
  await store.trainingRuns.save(key, { ...run, ...dataset }, []);
  const policy = { id, role: 'target', parentId: null, trainingRun: jobKey, uri: 'file:///none' } as const;
  await store.policies.save(key, policy);
  return id;
}

/** Sums the attempts of each worker from the inputs of the activities that it ran. */
function sharesOf(events: readonly HistoryEvent[]): number[] {
  const inputs = new Map(
    events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) => {
      const input = scheduled?.input?.payloads?.[0]?.data;
      return input ? [[String(eventId), JSON.parse(Buffer.from(input).toString()) as Range]] : [];
    }),
  );
  const shares = new Map<string, number>();
  for (const { activityTaskStartedEventAttributes: started } of events) {
    const range = started && inputs.get(String(started.scheduledEventId));
    const worker = started?.identity ?? '';
    if (range) shares.set(worker, (shares.get(worker) ?? 0) + range.to - range.from);
  }
  return [...shares.values()].toSorted((a, b) => b - a);
}
