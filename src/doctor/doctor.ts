import type { Config } from '../config';
import { readStackConfig, readState, withKeptFiles } from '../stack/stack-state';
import type { Check } from './check';
import { checkEnvironments } from './check-environments';
import { checkMachine } from './check-machine';
import { checkServices } from './check-services';

/** Checks everything that a campaign needs. Changes nothing; a failed check is a result, not an error. */
export async function doctor(config: Config): Promise<Check[]> {
  const state = readState(config.home);
  const stack = { config: readStackConfig(config), state };
  const checks = Promise.all([...checkMachine(withKeptFiles(config, state)), ...checkServices(stack, config)]);
  const environments = checkEnvironments(stack.config);
  return [...(await checks), ...(await environments)];
}
