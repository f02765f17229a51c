import { CommanderError } from 'commander';
import { explain } from '../errors/explain';
import { failureOf as describe, type Failure, type FailureKind } from '../errors/failure';
import { asCalled, calledName } from './output/called-name';

/** Exit codes by the kind of a failure (docs/commands.md). */
export const exitCodes = {
  failed: 1,
  usage: 2,
  'not-found': 3,
  refused: 4,
  parked: 5,
  unreachable: 6,
} as const satisfies Record<FailureKind, number>;

/** Returns a failed command as `--json` prints it. */
export function failureOf(error: unknown): Failure {
  const failure = describe(error, asCalled(explain(error)), calledName());
  return error instanceof CommanderError ? { ...failure, kind: 'usage' } : failure;
}
