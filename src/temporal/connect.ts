import { StackError } from '../base/errors';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
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

/** A client of the configured Temporal server. The caller closes its connection. @throws Error that names the address */
export async function connectClient(config: Config): Promise<Client> {
  const dataConverter = dataConverterOf(config);
  const connection = await connect(config.temporal);
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter });
}

/** With TLS or a key, a server that is there and refuses us looks like one that is not: the message names both. */
async function connect(temporal: TemporalConfig): Promise<Connection> {
  const address = addressOf(temporal);
  try {
    return await Connection.connect({ address, ...temporal.connection });
  } catch (cause) {
    if (Object.keys(temporal.connection).length === 0) throw cause;
    const given = Object.keys(temporal.connection).join(', ');
    const reason = [cause, (cause as Error).cause].map((one) => (one instanceof Error ? one.message : '')).join(': ');
    const said = reason.replace(/failed to connect/i, 'no connection').replace(/: $/, '');
    const next = 'check TEMPORAL_ADDRESS, TEMPORAL_API_KEY, TEMPORAL_TLS and TEMPORAL_TLS_SERVER_CA_CERT_PATH';
    throw new StackError(`Temporal at ${address} was not reached with ${given}: ${said}`, next, { cause });
  }
}

/** @throws StackError when none is configured */
export function addressOf({ address }: TemporalConfig): string {
  if (address) return address;
  throw new StackError('no Temporal server is configured', 'coevolve up, or set TEMPORAL_ADDRESS');
}
