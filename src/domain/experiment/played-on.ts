/** Where a cell was stored, and by which code: the machine of the worker that closed it. */
export type PlayedOn = {
  /** Names the machine by a hash. */
  machine: string;
  /** Model of its processor; null where the system does not name it. */
  processor: string | null;
  cores: number;
  /** Commit of the code when the worker started; null outside of a git clone. */
  commit: string | null;
  /** Files of the code differed from the commit. */
  dirty: boolean | null;
};

/** Names the code: another text, other code. */
export const codeOf = ({ commit, dirty }: PlayedOn): string =>
  commit === null ? 'unknown code' : `${commit.slice(0, 12)}${dirty ? ' and changes' : ''}`;
