import { CoevolveError } from '../domain/base/errors';
import { WorkflowNotFoundError } from '@temporalio/client';

/** An error as one clear message that names the next command; a stack trace only for what nobody expected. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof WorkflowNotFoundError && /already completed/.test(error.message))
    return 'the campaign has ended: it takes no more orders; start another under a new name';
  if (error instanceof WorkflowNotFoundError)
    return `${error.message}: this Temporal server does not know the campaign; see \`coevolve list\``;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED' || /ECONNREFUSED|UNAVAILABLE|failed to connect/i.test(error.message))
    return `${error.message || 'connection refused'}: a server does not answer; start the stack with \`coevolve up\`, check it with \`coevolve doctor\``;
  if (untrusted.has(code) || /does not support SSL/.test(error.message))
    return `${error.message}: no connection with TLS came about; check sslmode and sslrootcert of DATABASE_URL (docs/security.md)`;
  if (error instanceof AggregateError) return [...new Set(error.errors.map(explain))].join('\n');
  if (code === '42P01') return `${error.message}: the database has no schema yet; run \`coevolve migrate\``;
  return error instanceof CoevolveError ? error.message : (error.stack ?? error.message);
}

/** Node's words for a certificate that is not accepted: that of the chain, of the date, of the name. */
const untrusted = new Set([
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_GET_ISSUER_CERT', 'CERT_SIGNATURE_FAILURE', 'CERT_HAS_EXPIRED'],
  ...['CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);
