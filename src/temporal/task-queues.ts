import type { Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';
import type { TemporalConfig } from '../config';
import { withTemporal } from './with-temporal';

/** One half of a task queue: its tasks of workflows or of activities. */
export type QueueState = {
  queue: string;
  type: 'workflow' | 'activity';
  /** Identities of the workers that polled within the time of a poll. */
  pollers: string[];
  /** Tasks that no worker has taken, approximately. */
  backlog: number;
  /** Age of the oldest of them in seconds. */
  backlogAge: number;
};

const types = { workflow: 1, activity: 2 } as const; // temporal.api.enums.v1.TaskQueueType

/** A poll lasts 60 s, but the server lists a poller for 5 min. */
const maxPollAgeMs = 70_000;

/** Asks Temporal for both halves of each queue. */
export const describeQueues = (temporal: TemporalConfig, queues: readonly string[]): Promise<QueueState[]> =>
  withTemporal(temporal, (connection) =>
    Promise.all(
      queues.flatMap((queue) =>
        (['workflow', 'activity'] as const).map((type) => describe(connection, temporal.namespace, { queue, type })),
      ),
    ),
  );

async function describe(
  { workflowService }: Connection,
  namespace: string,
  { queue, type }: Pick<QueueState, 'queue' | 'type'>,
): Promise<QueueState> {
  const { pollers, stats } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: types[type],
    reportStats: true,
  });
  const recent = pollers.filter(
    ({ lastAccessTime }) => !lastAccessTime || Date.now() - tsToMs(lastAccessTime) < maxPollAgeMs,
  );
  return {
    queue,
    type,
    pollers: recent.map(({ identity }) => identity ?? '').filter(Boolean),
    backlog: Number(stats?.approximateBacklogCount ?? 0),
    backlogAge: stats?.approximateBacklogAge ? tsToMs(stats.approximateBacklogAge) / 1000 : 0,
  };
}
