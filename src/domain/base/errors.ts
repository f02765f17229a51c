/**
 * An error that no retry can mend: the input itself breaks a rule of the domain.
 *
 * Workers name this class in `workflowFailureErrorTypes` and activity profiles name it in
 * `nonRetryableErrorTypes`. Both match on the class name, so subclasses would not be recognised.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';

  /** @param code PascalCase, stable: what tests and callers compare; the message is for people */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
