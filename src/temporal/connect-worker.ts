import { DefaultLogger, NativeConnection, type RuntimeOptions } from '@temporalio/worker';
import type { Config } from '../config';
import { addressOf } from './connect';

// A separate file, so that commands do not load the worker part of the SDK.

export const connectWorker = ({ temporal }: Config): Promise<NativeConnection> =>
  NativeConnection.connect({ address: addressOf(temporal), ...temporal.connection });

/** Options of the Temporal runtime of a worker process. With an address, it serves Prometheus metrics at `/metrics`. */
export const runtimeOptions = ({ metricsAddress }: Pick<Config, 'metricsAddress'>): RuntimeOptions => ({
  logger: new DefaultLogger('WARN'),
  shutdownSignals: ['SIGINT', 'SIGTERM'],
  ...(metricsAddress ? { telemetryOptions: { metrics: { prometheus: { bindAddress: metricsAddress } } } } : {}),
});
