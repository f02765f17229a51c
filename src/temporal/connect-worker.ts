import { NativeConnection } from '@temporalio/worker';
import type { Config } from '../config';
import { addressOf } from './connect';

/** For workers alone: what commands use of Temporal loads without the worker's half of its SDK. */
export const connectWorker = ({ temporal }: Config): Promise<NativeConnection> =>
  NativeConnection.connect({ address: addressOf(temporal), ...temporal.connection });
