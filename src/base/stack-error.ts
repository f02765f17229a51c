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
export const codeOf = (error: unknown): string | undefined => textOf(error, 'code');

export const messageOf = (error: unknown): string => textOf(error, 'message') ?? String(error);

/** Asks for the property, not for the class: an error may come from another realm, as under jest. */
function textOf(error: unknown, property: 'code' | 'message'): string | undefined {
  if (typeof error !== 'object' || error === null || !(property in error)) return undefined;
  const value: unknown = Reflect.get(error, property);
  return typeof value === 'string' ? value : undefined;
}
