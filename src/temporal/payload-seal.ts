import { ConfigError } from '../errors/errors';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { keysVariable, type PayloadKey, type PayloadKeys } from './payload-keys';

/** Metadata `encoding` of an encrypted payload. */
const sealedEncoding = 'binary/encrypted';
const cipherName = 'AES-256-GCM';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts payloads including their metadata with AES-256-GCM (NIST SP 800-38D), the current key and a random nonce of
 * 96 bits. The new metadata contains the id of the key. The standard allows 2^32 payloads per key.
 *
 * Layout of the data: nonce [12], then the cipher text, then the tag [16], as in Temporal's samples, so that other tools
 * can read it. Plain payloads are decoded unchanged: histories may be older than the keys.
 *
 * @param keys without keys nothing is encrypted, and encrypted payloads cause an error with the id of their key
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

/** @throws ConfigError when the key is missing or cannot decrypt the payload */
function unseal(payload: Payload, keys: PayloadKeys | undefined): Payload {
  const id = metadataOf(payload, 'encryption-key-id') ?? '';
  const found = keys?.find(id);
  if (!found)
    throw new ConfigError(
      keysVariable,
      keys
        ? `the file does not contain the key "${id}" of a payload; add it`
        : `unset, and a payload is encrypted with the key "${id}"; set it to the file with this key`,
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
    throw new ConfigError(
      keysVariable,
      `the key "${id}" cannot decrypt a payload: a different key, or a changed payload`,
      {
        cause,
      },
    );
  }
}

const metadataOf = ({ metadata }: Payload, name: string): string | undefined => {
  const value = metadata?.[name];
  return value ? Buffer.from(value).toString() : undefined;
};
