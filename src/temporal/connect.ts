import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import type { Config, TemporalConfig } from '../config';
import { readPayloadKeys } from './payload-keys';
import { payloadLimit } from './payload-limit';
import { payloadSeal } from './payload-seal';

/**
 * How every client and worker writes and reads what stands in histories: with COEVOLVE_PAYLOAD_KEYS sealed, payloads and
 * the messages of failures both. The limit comes first, so that it counts plain bytes.
 *
 * @throws ConfigError when the keys cannot be read
 */
export function dataConverterOf({ payloadKeysFile }: Pick<Config, 'payloadKeysFile'>): DataConverter {
  if (!payloadKeysFile) return { payloadCodecs: [payloadLimit, payloadSeal()] };
  return {
    payloadCodecs: [payloadLimit, payloadSeal(readPayloadKeys(payloadKeysFile))],
    failureConverterPath: require.resolve('./sealed-failures'),
  };
}

/** A client of the configured Temporal server. The caller closes its connection. */
export async function connectClient(config: Config): Promise<Client> {
  const dataConverter = dataConverterOf(config);
  const connection = await Connection.connect({ address: addressOf(config.temporal), ...config.temporal.connection });
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter });
}

export const connectWorker = ({ temporal }: Config): Promise<NativeConnection> =>
  NativeConnection.connect({ address: addressOf(temporal), ...temporal.connection });

function addressOf({ address }: TemporalConfig): string {
  if (address) return address;
  throw new Error('no Temporal server is known: start one with `coevolve up`, or set TEMPORAL_ADDRESS');
}
