import type { Config } from '../config';
import type { Check } from './check';
import { checkMachine } from './check-machine';
import { checkServices } from './check-services';
import { readStackConfig, readState } from './state';

/** Looks at everything that a campaign relies on, changes nothing, and throws for no finding. */
export async function doctor(config: Config): Promise<Check[]> {
  const stack = { config: readStackConfig(config), state: readState(config.home) };
  return Promise.all([...checkMachine(config), ...checkServices(stack, config)]);
}
