/** Base class of the errors with a message for operators: the problem and, if there is one, the next command. */
export abstract class CoevolveError extends Error {}

/**
 * The input breaks a rule of the domain. A retry cannot succeed.
 *
 * Workers name this class in `workflowFailureErrorTypes`, activity profiles name it in `nonRetryableErrorTypes`. Both match
 * the class name exactly, so subclasses would not be recognised.
 */
export class DomainError extends CoevolveError {
  override readonly name = 'DomainError';

  /** @param code stable name in PascalCase, compared by tests and callers */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** @throws DomainError `InvalidSetting` with the field, the expected and the found value, unless `holds` */
export function requireSetting(holds: boolean, field: string, expected: string, value: unknown): void {
  if (!holds) throw new DomainError('InvalidSetting', `${field} must be ${expected}, got ${String(value)}`);
}
