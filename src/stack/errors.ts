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

/** Node's and Postgres's short name of what went wrong, as ENOENT or 28P01. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
