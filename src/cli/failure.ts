import { WorkflowNotFoundError } from '@temporalio/client';
import { CommanderError } from 'commander';
import { codeOf, ConfigError, ServiceError, StackError, UsageError } from '../errors/errors';
import { DomainError } from '../domain/errors';
import { asCalled, calledName } from './output/called-name';
import { explain, isUnreachable } from './explain';

/** Exit codes by the kind of a failure (docs/commands.md). */
export const exitCodes = {
  failed: 1,
  usage: 2,
  'not-found': 3,
  refused: 4,
  parked: 5,
  unreachable: 6,
} as const;

export type FailureKind = keyof typeof exitCodes;

/** A failed command as `--json` prints it. */
export type Failure = {
  error: string;
  /** Stable name of the rule or of the error, such as UnknownCampaign or ECONNREFUSED. */
  code: string;
  kind: FailureKind;
  /** The next command; null if the message names none. */
  next: string | null;
};

export function failureOf(error: unknown): Failure {
  const [first = '', ownNext] = asCalled(explain(error)).split('\n  next: ');
  const isUnexpected = error instanceof Error && first === error.stack;
  const hinted = first.split('`').find((part) => part.startsWith(`${calledName()} `));
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
  if (error instanceof CommanderError || error instanceof UsageError || error instanceof ConfigError) return 'usage';
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
