import { ConfigError } from '../base/errors';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { keysVariable, type PayloadKey, type PayloadKeys } from './payload-keys';

/** What a sealed payload says of itself in its metadata. */
const sealedEncoding = 'binary/encrypted';
const cipherName = 'AES-256-GCM';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals payloads with AES-256-GCM (NIST SP 800-38D), each whole with its metadata, under a random nonce of 96 bits and
 * the current key, whose name stands beside it. A key is good for 2^32 payloads by that standard.
 *
 * Layout of the data: nonce [12], then the cipher text, then the tag [16], as in Temporal's own samples, so that other
 * tools can read it. Payloads that are not sealed are read as they are: histories from before there were keys.
 *
 * @param keys without them nothing is sealed, and what was sealed is refused by name
 */
export const payloadSeal = (keys?: PayloadKeys): PayloadCodec => ({
  encode: async (payloads) => (keys ? payloads.map((payload) => seal(payload, keys.current())) : payloads),
  decode: async (payloads) => payloads.map((payload) => (isSealed(payload) ? unseal(payload, keys) : payload)),
});

const isSealed = (payload: Payload): boolean => metadataOf(payload, 'encoding') === sealedEncoding;

function seal(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const plain = temporal.api.common.v1.Payload.encode(payload).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const metadata = { encoding: sealedEncoding, 'encryption-cipher': cipherName, 'encryption-key-id': id };
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value)])),
    data: new Uint8Array(data),
  };
}

/** @throws ConfigError when the key is missing or does not open the payload */
function unseal(payload: Payload, keys: PayloadKeys | undefined): Payload {
  const id = metadataOf(payload, 'encryption-key-id') ?? '';
  const found = keys?.find(id);
  if (!found)
    throw new ConfigError(
      keysVariable,
      keys
        ? `the file does not contain the key "${id}" of a payload; add it`
        : `unset, and a payload is sealed with the key "${id}"; set it to the file with this key`,
    );
  const data = Buffer.from(payload.data ?? []);
  try {
    const cipher = createDecipheriv('aes-256-gcm', found.key, data.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    cipher.setAuthTag(data.subarray(-tagBytes));
    const plain = Buffer.concat([cipher.update(data.subarray(nonceBytes, -tagBytes)), cipher.final()]);
    const { metadata, data: body } = temporal.api.common.v1.Payload.decode(plain);
    return { metadata, data: body };
  } catch (cause) {
    throw new ConfigError(keysVariable, `the key "${id}" does not open a payload: another key, or a changed payload`, {
      cause,
    });
  }
}

const metadataOf = ({ metadata }: Payload, name: string): string | undefined => {
  const value = metadata?.[name];
  return value ? Buffer.from(value).toString() : undefined;
};
