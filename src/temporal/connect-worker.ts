import {
  DefaultLogger,
  NativeConnection,
  type PrometheusMetricsExporter,
  type RuntimeOptions,
} from '@temporalio/worker';
import type { Config } from '../config';
import { addressOf } from './connect';

// A separate file, so that commands do not load the worker part of the SDK.

export const connectWorker = ({ temporal }: Config): Promise<NativeConnection> =>
  NativeConnection.connect({ address: addressOf(temporal), ...temporal.connection });

/** Options of the Temporal runtime of a worker process. With an address, it serves Prometheus metrics at `/metrics`. */
export const runtimeOptions = ({ metricsAddress }: Pick<Config, 'metricsAddress'>): RuntimeOptions => ({
  logger: new DefaultLogger('WARN'),
  shutdownSignals: ['SIGINT', 'SIGTERM'],
  ...(metricsAddress ? { telemetryOptions: { metrics: { prometheus: prometheusOptions(metricsAddress) } } } : {}),
});

/** Training runs for hours: with the SDK's own buckets, which end at 60 s, every high quantile of an activity is infinite. */
const longBuckets = [0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400]; // seconds

const prometheusOptions = (bindAddress: string): PrometheusMetricsExporter['prometheus'] => ({
  bindAddress,
  countersTotalSuffix: true,
  unitSuffix: true,
  useSecondsForDurations: true,
  histogramBucketOverrides: Object.fromEntries(longHistograms.map((name) => [name, longBuckets])),
});

const longHistograms = [
  'temporal_activity_execution_latency',
  'temporal_activity_succeed_endtoend_latency',
  'temporal_activity_schedule_to_start_latency',
  'temporal_workflow_endtoend_latency',
];
