import { EnvironmentError } from './environment-error';

/** Our server names in a 503 an environment that it cannot host, such as one whose file is broken. */
export const unavailableHeader = 'x-coevolve-unavailable';

/**
 * Returns the error of an environment that the server cannot host now. It ends as an outage does: the address answers once
 * the environment is hosted.
 *
 * @param url address of the server, or of the environment on it
 * @param reason of the server
 */
export function unavailableEnvironment(url: string, name: string, reason?: string): EnvironmentError {
  const address = `${url.replace(/\/envs\/[^/]*$/, '')}/health/${encodeURIComponent(name)}`;
  const cause = reason ?? '`coevolve doctor` prints the reason';
  return new EnvironmentError('unreachable', `the environment server cannot host ${name}: ${cause}`, { address });
}
