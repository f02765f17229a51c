import type { Config } from '../config';
import type { Check } from './check';
import { checkEnvironments } from './check-environments';
import { checkMachine } from './check-machine';
import { checkServices } from './check-services';
import { readStackConfig, readState } from '../stack/stack-state';

/** Looks at everything that a campaign relies on, changes nothing, and throws for no finding. */
export async function doctor(config: Config): Promise<Check[]> {
  const stack = { config: readStackConfig(config), state: readState(config.home) };
  const checks = Promise.all([...checkMachine(config), ...checkServices(stack, config)]);
  const environments = checkEnvironments(stack.config);
  return [...(await checks), ...(await environments)];
}
