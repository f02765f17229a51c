import { WorkflowNotFoundError } from '@temporalio/client';
import { codeOf, ConfigError, ServiceError, StackError, UsageError } from './errors';
import { DomainError } from '../domain/errors';
import { explain, isUnreachable } from './explain';

export type FailureKind = 'failed' | 'usage' | 'not-found' | 'refused' | 'parked' | 'unreachable';

/** A failed command or order as JSON. */
export type Failure = {
  error: string;
  /** Stable name of the rule or of the error, such as UnknownCampaign or ECONNREFUSED. */
  code: string;
  kind: FailureKind;
  /** The next command; null if the message names none. */
  next: string | null;
};

/** @param text the explained error; `command`: the name of the program in it */
export function failureOf(error: unknown, text = explain(error), command = 'coevolve'): Failure {
  const [first = '', ownNext] = text.split('\n  next: ');
  const isUnexpected = error instanceof Error && first === error.stack;
  const hinted = first.split('`').find((part) => part.startsWith(`${command} `));
  return {
    error: isUnexpected ? error.message.replace(/^error: /, '') : first,
    code: errorName(error),
    kind: kindOf(error),
    next: ownNext ?? hinted ?? null,
  };
}

function errorName(error: unknown): string {
  const code = codeOf(error);
  if (code) return code;
  return error instanceof Error ? error.name : 'Error';
}

function kindOf(error: unknown): FailureKind {
  if (error instanceof UsageError || error instanceof ConfigError) return 'usage';
  if (error instanceof StackError || isUnreachable(error)) return 'unreachable';
  if (error instanceof ServiceError) return error.retryable ? 'unreachable' : 'refused';
  if (error instanceof WorkflowNotFoundError) return /already completed/.test(error.message) ? 'refused' : 'not-found';
  return error instanceof DomainError ? kindOfRule(error.code) : 'failed';
}

function kindOfRule(code: string): FailureKind {
  if (code === 'Parked') return 'parked';
  if (code.startsWith('Unknown')) return 'not-found';
  return /^Invalid|^Unreadable|^NoCampaign$/.test(code) ? 'usage' : 'refused';
}
