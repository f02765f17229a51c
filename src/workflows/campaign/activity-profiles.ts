import type { ActivityOptions } from '@temporalio/workflow';
import { taskQueues } from '../../domain/campaign/task-queues';

/** Errors that no retry can mend; thrown as they are, matched by class name. */
const nonRetryableErrorTypes = ['DomainError'];

/** Whoever aborts is told when nothing is at work any more: nobody writes behind the campaign's back. */
const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

/** About a minute of tries: a database that restarts is waited for, one that stays away parks the campaign. */
const store: ActivityOptions = {
  taskQueue: taskQueues.store,
  startToCloseTimeout: '2 minutes',
  cancellationType,
  retry: { initialInterval: '500ms', maximumInterval: '10s', maximumAttempts: 12, nonRetryableErrorTypes },
};

/** For the few calls outside a phase, which cannot park: they wait for the database however long it takes. */
const storeUnlimited: ActivityOptions = {
  taskQueue: taskQueues.store,
  startToCloseTimeout: '2 minutes',
  cancellationType,
  retry: { initialInterval: '500ms', maximumInterval: '10s', nonRetryableErrorTypes },
};

/** A killed worker is noticed after the heartbeat timeout; the next try finds the finished attempts stored. */
const rollout = (environment: string): ActivityOptions => ({
  taskQueue: taskQueues.rollout(environment),
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '20s', maximumAttempts: 8, nonRetryableErrorTypes },
});

/** A server that names a time to come back is taken at its word; a run of failures parks the campaign. */
const llm = (provider: string): ActivityOptions => ({
  taskQueue: taskQueues.llm(provider),
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 12, nonRetryableErrorTypes },
});

/** The job outlives its watcher: another try takes the watch up again. */
const train: ActivityOptions = {
  taskQueue: taskQueues.train,
  startToCloseTimeout: '48 hours',
  heartbeatTimeout: '10s',
  cancellationType,
  retry: { initialInterval: '1s', maximumInterval: '20s', maximumAttempts: 8, nonRetryableErrorTypes },
};

/** Ends jobs, however long a worker of theirs has to be waited for. */
const trainUnlimited: ActivityOptions = {
  ...train,
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1s', maximumInterval: '20s', nonRetryableErrorTypes },
};

export const profiles = { store, storeUnlimited, rollout, llm, train, trainUnlimited };
