import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Moves messages and stack traces of failures to a payload, so that the codec encrypts them; otherwise histories contain
 * them as plain text. Loaded by path in every client, every worker and the workflow sandbox.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
