import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Config, TemporalConfig } from '../config';
import { payloadLimit } from './payload-limit';

export const dataConverter = { payloadCodecs: [payloadLimit] };

/** A client of the configured Temporal server. The caller closes its connection. */
export async function connectClient(config: Config): Promise<Client> {
  const connection = await Connection.connect({ address: addressOf(config.temporal), ...config.temporal.connection });
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter });
}

export const connectWorker = ({ temporal }: Config): Promise<NativeConnection> =>
  NativeConnection.connect({ address: addressOf(temporal), ...temporal.connection });

function addressOf({ address }: TemporalConfig): string {
  if (address) return address;
  throw new Error('no Temporal server is known: start one with `coevolve up`, or set TEMPORAL_ADDRESS');
}
