/** Address of an environment server. */
export type EnvironmentEndpoint = {
  /** URL without a trailing slash. */
  url: string;
  token?: string | undefined;
  /** Advice at the end of the message when no server answers; default: start our server. */
  remedy?: string;
  /** Timeout of one request; default: 120 s. */
  timeoutMs?: number | undefined;
};

export const remedyOf = ({ remedy }: EnvironmentEndpoint): string => remedy ?? 'start one with `coevolve up`';
