import { codeOf } from './errors';
import { CoevolveError } from '../domain/errors';
import { isGrpcDeadlineError, WorkflowNotFoundError } from '@temporalio/client';

/** Returns an error as one line with the next command; unexpected errors keep their stack trace. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof WorkflowNotFoundError && /already completed/.test(error.message))
    return 'the campaign has ended and accepts no more commands; start a campaign with another name';
  if (error instanceof WorkflowNotFoundError)
    return `${error.message}: the campaign is not on this Temporal server; see \`coevolve list\``;
  const code = codeOf(error) ?? '';
  if (refusesConnections(error, code))
    return `${error.message || 'connection refused'}: a server is unavailable; start the stack with \`coevolve up\`, check it with \`coevolve doctor\``;
  if (certificateErrors.has(code) || /does not support SSL/.test(error.message))
    return `${error.message}: TLS connection failed; check sslmode and sslrootcert of DATABASE_URL (docs/security.md)`;
  const isLate: boolean = isGrpcDeadlineError(error);
  if (isLate)
    return `${error.message}: Temporal or a workflow worker did not answer in time; start them with \`coevolve up\`, check them with \`coevolve doctor\``;
  if (error instanceof AggregateError) return [...new Set(error.errors.map(explain))].join('\n');
  if (code === '42P01') return `${error.message}: the database has no schema; run \`coevolve migrate\``;
  return error instanceof CoevolveError ? error.message : (error.stack ?? error.message);
}

/** True if no server answers, its certificate is rejected, or the database has no schema. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error) ?? '';
  return refusesConnections(error, code) || certificateErrors.has(code) || databaseErrors.test(code);
}

const refusesConnections = ({ message }: Error, code: string): boolean =>
  code === 'ECONNREFUSED' || /ECONNREFUSED|UNAVAILABLE|failed to connect/i.test(message);

/** SQLSTATE of a failed connection or authentication, of a stopping server, a missing database, or a missing schema. */
const databaseErrors = /^(08...|28...|57P..|3D000|42P01)$/;

/** Node's error codes for a rejected certificate: its chain, date or name. */
const certificateErrors = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'CERT_SIGNATURE_FAILURE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
