import type { ActivityOptions } from '@temporalio/workflow';
import { taskQueues } from '../../domain/campaign/task-queues';

/** Matched by class name: a retry cannot change the cause of these errors. */
const nonRetryableErrorTypes = ['DomainError'];

/** Cancellation waits until activities have stopped: none writes after its campaign has ended. */
const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

/** Retries for about a minute: a database that restarts is waited for, one that stays unavailable parks the campaign. */
const store: ActivityOptions = {
  taskQueue: taskQueues.store,
  startToCloseTimeout: '2 minutes',
  cancellationType,
  retry: { initialInterval: '500ms', maximumInterval: '10s', maximumAttempts: 12, nonRetryableErrorTypes },
};

/** For the few calls outside a phase, which cannot park: they wait for the database without a limit. */
const storeUnlimited: ActivityOptions = {
  ...store,
  retry: { initialInterval: '500ms', maximumInterval: '10s', nonRetryableErrorTypes },
};

/** A killed worker is detected after the heartbeat timeout; the next attempt finds the finished rollouts stored. */
const rollout = (environment: string): ActivityOptions => ({
  taskQueue: taskQueues.rollout(environment),
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '20s', maximumAttempts: 8, nonRetryableErrorTypes },
});

/** The Retry-After of a provider is the next delay; repeated failures park the campaign. */
const llm = (provider: string): ActivityOptions => ({
  taskQueue: taskQueues.llm(provider),
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 12, nonRetryableErrorTypes },
});

/** A training job outlives the activity that watches it: the next attempt continues to watch. */
const train: ActivityOptions = {
  taskQueue: taskQueues.train,
  startToCloseTimeout: '48 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '20s', maximumAttempts: 8, nonRetryableErrorTypes },
};

/** Cancels training jobs; waits for a train worker without a limit. */
const trainUnlimited: ActivityOptions = {
  ...train,
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1s', maximumInterval: '20s', nonRetryableErrorTypes },
};

/** Asks a server that did not answer whether it answers now, for as long as it takes. An operator's decision ends it at once. */
const outage = (taskQueue: string): ActivityOptions => ({
  taskQueue,
  startToCloseTimeout: '1 minute',
  cancellationType: 'TRY_CANCEL',
  retry: { initialInterval: '1s', maximumInterval: '1 minute', nonRetryableErrorTypes },
});

export const profiles = { store, storeUnlimited, rollout, llm, train, trainUnlimited, outage };
