import { StackError } from '../errors/errors';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Config, TemporalConfig } from '../config';
import { readPayloadKeys } from './payload-keys';
import { payloadLimit } from './payload-limit';
import { payloadSeal } from './payload-seal';

/**
 * Returns the data converter of all clients and workers. With COEVOLVE_PAYLOAD_KEYS it encrypts payloads and failure
 * messages in histories. The size limit comes first, so that it counts plain bytes.
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

/** Connects a client to the configured Temporal server. The caller closes its connection. @throws Error with the address */
export async function connectClient(config: Config): Promise<Client> {
  const dataConverter = dataConverterOf(config);
  const connection = await connect(config.temporal);
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter });
}

/** With TLS or a key, a rejection looks like an unavailable server, so the message mentions both. */
async function connect(temporal: TemporalConfig): Promise<Connection> {
  const address = addressOf(temporal);
  try {
    return await Connection.connect({ address, ...temporal.connection });
  } catch (cause) {
    if (Object.keys(temporal.connection).length === 0) throw cause;
    const credentials = Object.keys(temporal.connection).join(', ');
    const messages = [cause, (cause as Error).cause].map((error) => (error instanceof Error ? error.message : ''));
    // "failed to connect" would make the command line report an unavailable server
    const reason = messages
      .join(': ')
      .replace(/failed to connect/i, 'no connection')
      .replace(/: $/, '');
    const next = 'check TEMPORAL_ADDRESS, TEMPORAL_API_KEY, TEMPORAL_TLS and TEMPORAL_TLS_SERVER_CA_CERT_PATH';
    throw new StackError(`connection to Temporal at ${address} with ${credentials} failed: ${reason}`, next, { cause });
  }
}

/** @throws StackError when none is configured */
export function addressOf({ address }: TemporalConfig): string {
  if (address) return address;
  throw new StackError('no Temporal server is configured', 'coevolve up, or set TEMPORAL_ADDRESS');
}
