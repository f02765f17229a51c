import { DefaultLogger, type RuntimeOptions } from '@temporalio/worker';
import type { Config } from '../config';

/** Of the Temporal runtime of a worker process; with an address, Prometheus finds its metrics there under `/metrics`. */
export const runtimeOptions = ({ metricsAddress }: Pick<Config, 'metricsAddress'>): RuntimeOptions => ({
  logger: new DefaultLogger('WARN'),
  shutdownSignals: ['SIGINT', 'SIGTERM'],
  ...(metricsAddress ? { telemetryOptions: { metrics: { prometheus: { bindAddress: metricsAddress } } } } : {}),
});
