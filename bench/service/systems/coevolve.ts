import type { WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { Pool } from 'pg';
import type { BenchStack } from '../stack';
import { memoOf } from '../../../src/domain/campaign/memo';
import type { Range } from '../../../src/domain/concurrency';
import { activitySizes, shardsOf } from '../../../src/domain/rollout/activity-ranges';
import { findProcess } from '../../../src/process/processes';
import { stackStatus } from '../../../src/stack';
import { createStore } from '../../../src/store';
import { createPool } from '../../../src/store/database/pool';
import { connectClient } from '../../../src/temporal/connect';
import type { rollout } from '../../../src/workflows';
import { environment, planEvaluation } from './evaluation-plan';
import { countResults, type Outcome, type Results, type System } from './system';
import { countTransactions } from './transactions';

const { History } = temporal.api.history.v1;
type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

/** Plays attempts as evaluations of campaigns, through Temporal, Postgres and the rollout workers of the stack. */
export async function startCoevolve({ bare, config, workers }: BenchStack): Promise<System> {
  const [pool, client] = [createPool(config.databaseUrl!), await connectClient(config)];

  async function play(attempts: number): Promise<Outcome> {
    const { key, policyId } = await planEvaluation(createStore(pool), attempts);
    const sizes = activitySizes(1);
    const batch = { ...key, environment, purpose: 'evaluation' as const, policyId, step: 0, end: attempts, ...sizes };
    const startedAt = performance.now();
    const shards = await Promise.all(
      shardsOf({ from: 0, to: attempts }, sizes).map((range, n) => {
        const workflowId = `campaign/bench-${key.campaignId}/${n}`;
        return client.workflow.start<typeof rollout>('rollout', {
          workflowId,
          taskQueue: 'workflow',
          args: [{ ...batch, ...range }],
          ...memoOf(config, workflowId, { weight: 1, campaignId: key.campaignId }),
        });
      }),
    );
    await Promise.all(shards.map((shard) => shard.result()));
    const seconds = (performance.now() - startedAt) / 1000;
    const histories = await Promise.all(shards.map((shard) => shard.fetchHistory()));
    const events = histories.flatMap((history) => history.events ?? []);
    const historyBytes = histories.reduce((sum, history) => sum + History.encode(history).finish().length, 0);
    const results = await readResults(pool, key.campaignId);
    return { seconds, results, events: events.length, historyBytes, shares: sharesOf(events) };
  }

  return {
    processes: () =>
      new Map([
        ...workers.map((pid): [number, string] => [pid, 'worker-rollout']), // the status lists only the first
        ...stackStatus(bare).flatMap(({ name, pid }): [number, string][] => (pid ? [[pid, name]] : [])),
      ]),
    transactions: () => countTransactions(pool),
    play,
    /** The supervisor of the stack starts the worker again. */
    async kill() {
      process.kill(findProcess(bare.home, 'worker-rollout')!.pid, 'SIGKILL');
    },
    async stop() {
      await Promise.all([pool.end(), client.connection.close()]);
    },
  };
}

async function readResults(pool: Pool, campaignId: number): Promise<Results> {
  const { rows } = await pool.query<{ key: string; reward: number }>(
    `select task_id || '/' || attempt as key, reward::float8 as reward from trajectories where campaign_id = $1`,
    [campaignId],
  );
  return countResults(
    rows.map(({ key }) => key),
    rows.map(({ reward }) => reward),
  );
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
