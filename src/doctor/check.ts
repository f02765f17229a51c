import { messageOf } from '../base/errors';
import { CoevolveError } from '../domain/base/errors';

/** One line of `coevolve doctor`. */
export type Check = {
  name: string;
  ok: boolean;
  detail: string;
  /** The next command; there is one whenever the check fails. */
  next?: string;
};

/** The finding of a check. */
export class CheckFailed extends CoevolveError {
  override readonly name = 'CheckFailed';
}

/** Runs a check. Its error message is the finding; a line `next: <command>` in it replaces the default next command. */
export async function check(name: string, next: string, look: () => string | Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await look() };
  } catch (error) {
    const [detail = '', ownNext] = messageOf(error).split('\n  next: ');
    return { name, ok: false, detail, next: ownNext ?? next };
  }
}
