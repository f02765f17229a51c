import { messageOf } from '../errors/errors';
import { CoevolveError } from '../domain/errors';

/** One line of `coevolve doctor`. */
export type Check = {
  name: string;
  ok: boolean;
  /** True for an optional part that is not here, which is no failure. */
  absent?: boolean;
  /** True if campaigns run, but the operator should change something. */
  warning?: boolean;
  detail: string;
  /** The next command; set if the check failed or warns. */
  next?: string;
};

/** The result of a failed check. */
export class CheckFailed extends CoevolveError {
  override readonly name = 'CheckFailed';
}

/** Runs a check. Its error message is the detail; a line `next: <command>` in the message replaces the default. */
export async function check(name: string, next: string, run: () => string | Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await run() };
  } catch (error) {
    const [detail = '', ownNext] = messageOf(error).split('\n  next: ');
    return { name, ok: false, detail, next: ownNext ?? next };
  }
}
