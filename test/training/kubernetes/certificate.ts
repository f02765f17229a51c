import { generateKeyPairSync, sign } from 'node:crypto';

export type Certificate = { key: string; certificate: string };

/**
 * Creates a self-signed certificate for 127.0.0.1 (X.509 in DER, RFC 5280), valid for one day; the key is not stored in
 * a file.
 */
export function selfSigned(): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])); // ecdsa-with-SHA256
  const commonName = sequence(oid([0x55, 0x04, 0x03]), der(0x0c, Buffer.from('a fake cluster')));
  const name = sequence(der(0x31, commonName));
  const day = 86_400_000;
  const validity = sequence(utc(Date.now() - day), utc(Date.now() + day));
  const authority = sequence(oid([0x55, 0x1d, 0x13]), octets(sequence(der(0x01, Buffer.from([0xff])))));
  const addresses = sequence(oid([0x55, 0x1d, 0x11]), octets(sequence(der(0x87, Buffer.from([127, 0, 0, 1])))));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(authority, addresses)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const text = sequence(body, algorithm, signature).toString('base64').replace(/.{64}/g, '$&\n').trim();
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    certificate: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const octets = (content: Buffer): Buffer => der(0x04, content);
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]));
const oid = (bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));
const utc = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));
