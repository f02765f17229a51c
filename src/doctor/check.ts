import { messageOf } from '../base/stack-error';

/** One line of `coevolve doctor`. */
export type Check = {
  name: string;
  ok: boolean;
  detail: string;
  /** The next command; there is one whenever the check fails. */
  next?: string;
};

/** A check that throws has failed, and says so in the error's own words. */
export async function check(name: string, next: string, look: () => string | Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await look() };
  } catch (error) {
    const [detail = '', ownNext] = messageOf(error).split('\n  next: ');
    return { name, ok: false, detail, next: ownNext ?? next };
  }
}
