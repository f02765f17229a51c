import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** Root that signs server certificates for tests: X.509 (RFC 5280) over P-256, encoded without a library. */
export type Authority = { pem: string; issue(...names: string[]): { certificate: string; key: string } };

export function makeAuthority(name: string): Authority {
  const { publicKey, privateKey } = newPair();
  const pem = certificate({ issuer: name, subject: name, publicKey, signedBy: privateKey, extensions: [isAuthority] });
  return {
    pem,
    issue(...names) {
      const pair = newPair();
      const extensions = [alternativeNames(names)];
      const fields = { issuer: name, subject: names[0]!, publicKey: pair.publicKey, signedBy: privateKey, extensions };
      return {
        certificate: certificate(fields),
        key: String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      };
    },
  };
}

const newPair = (): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

type Certificate = {
  issuer: string;
  subject: string;
  publicKey: KeyObject;
  signedBy: KeyObject;
  extensions: Buffer[];
};

function certificate({ issuer, subject, publicKey, signedBy, extensions }: Certificate): string {
  const validity = sequence(der(0x17, Buffer.from('250101000000Z')), der(0x17, Buffer.from('490101000000Z')));
  const body = sequence(
    der(0xa0, integer(2)), // version 3
    integer(1 + Math.floor(Math.random() * 1e9)),
    sequence(ecdsaWithSha256),
    nameOf(issuer),
    validity,
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = createSign('sha256').update(body).sign(signedBy);
  const signed = sequence(body, sequence(ecdsaWithSha256), der(0x03, Buffer.from([0]), signature));
  return `-----BEGIN CERTIFICATE-----\n${signed.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

/** Encodes a tag, the length of the contents (X.690, 8.1.3) and the contents. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: Buffer[]): Buffer => der(0x30, ...contents);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const ecdsaWithSha256 = oid('2a8648ce3d040302');

function integer(value: number): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
  return der(0x02, bytes[0]! > 127 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

const nameOf = (common: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(common)))));

const yes = der(0x01, Buffer.from([0xff]));
const isAuthority = sequence(oid('551d13'), yes, der(0x04, sequence(yes)));

/** Encodes host names; the address of a certificate for an address is one of them. */
const alternativeNames = (names: readonly string[]): Buffer =>
  sequence(oid('551d11'), der(0x04, sequence(...names.map((name) => der(0x82, Buffer.from(name))))));
