/** Where an environment server is. */
export type EnvironmentEndpoint = {
  /** Without a slash at its end. */
  url: string;
  token?: string | undefined;
  /** What to do where nobody answers, the end of a message; default: start our own. */
  remedy?: string;
};

export const remedyOf = ({ remedy }: EnvironmentEndpoint): string => remedy ?? 'start one with `coevolve up`';
