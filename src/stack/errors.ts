/** The stack cannot be brought up, down or read; the message ends with what to do next. */
export class StackError extends Error {
  override readonly name = 'StackError';

  constructor(
    problem: string,
    readonly next: string,
    options?: ErrorOptions,
  ) {
    super(`${problem}\n  next: ${next}`, options);
  }
}
