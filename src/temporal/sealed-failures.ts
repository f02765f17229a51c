import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Keeps messages and stack traces of failures in a payload, so that the codec seals them as it seals any other: without
 * it they stand in histories as plain text. Loaded by name, in every client and worker and in the workflows' sandbox.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
