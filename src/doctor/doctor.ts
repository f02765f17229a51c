import type { Config } from '../config';
import type { Stack } from '../stack/service-definition';
import { listKeptVariables, shownValue } from '../stack/kept-variables';
import { readStackConfig, readState } from '../stack/stack-state';
import { type Check, check } from './check';
import { checkCampaigns } from './check-campaigns';
import { checkMachine } from './check-machine';
import { checkServices } from './check-services';
import { createEnvironments } from '../envs/environments';
import { listEnvironments, type EnvironmentListing } from '../envs/list-environments';

/** Checks everything that a campaign needs. Changes nothing; a failed check is a result, not an error. */
export async function doctor(config: Config): Promise<Check[]> {
  const state = readState(config.home);
  const stack = { config: readStackConfig(config), state };
  const checks = Promise.all([...checkMachine(config), ...checkServices(stack, config)]);
  const environments = checkEnvironments(stack.config);
  const campaigns = checkCampaigns(stack.config);
  return [...(await checks), ...checkVariables(stack), ...(await environments), ...(await campaigns)];
}

/** Shows what `up` keeps, and warns where this shell has something else: its commands and the services then differ. */
function checkVariables({ config, state }: Stack): Check[] {
  if (Object.keys(state.ports).length === 0) return []; // there was no `up`
  const { kept, notGiven } = listKeptVariables({ ...process.env, COEVOLVE_HOME: config.home });
  if (kept.length === 0 && notGiven.length === 0) return [];
  const differ = notGiven.length > 0 || kept.some(({ here }) => here !== null);
  const parts = [
    ...kept.map(
      ({ name, value, here }) =>
        `${name}=${shownValue(name, value)}${here === null ? '' : ` (here ${shownValue(name, here)})`}`,
    ),
    ...notGiven.map((name) => `${name} (here alone)`),
  ];
  const detail = `given to the last \`coevolve up\`: ${parts.join(', ')}`;
  return [{ name: 'variables', ok: true, detail, ...(differ ? { warning: true, next: 'coevolve up' } : {}) }];
}

/**
 * Returns one check per environment. An environment that this machine cannot host is no failure, since it may not be
 * wanted; a server that the operator configured must respond. Returns none while the project's environment server is
 * unavailable, which another check reports.
 */
async function checkEnvironments(config: Config): Promise<Check[]> {
  if (!config.environment.url) return [];
  let listings: EnvironmentListing[];
  try {
    listings = await listEnvironments(createEnvironments(config));
  } catch (error) {
    if (error instanceof Error && error.name === 'EnvironmentError') return [];
    return [await check('environments', 'correct the file, then run coevolve up', () => Promise.reject(error))];
  }
  return listings.map(checkOf);
}

function checkOf({ name, section, unavailable, broken, sessions, capacity }: EnvironmentListing): Check {
  const base = { name: `environment ${name}`, ok: unavailable === null || (section === 'hosted' && !broken) };
  if (unavailable === null)
    return { ...base, detail: `${sessions === null ? '' : `${sessions} of `}${capacity} sessions` };
  return {
    ...base,
    detail: section === 'hosted' ? `not available: ${unavailable}` : unavailable,
    ...(base.ok
      ? { absent: true }
      : { next: broken ? 'correct that file, then coevolve up' : `start that server, or correct servers.${name}` }),
  };
}
