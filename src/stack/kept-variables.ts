import { existsSync } from 'node:fs';
import path from 'node:path';
import { homeOf, readConfig, settingsFiles, variablesOf, type Config } from '../config';
import { StackError } from '../errors/errors';
import type { Env } from '../input/read-variable';
import { readState, type StackState } from './stack-state';

/** What `up` was given, and what it stores for the next `up` and for other commands. */
export type GivenVariables = { config: Config; given: Pick<StackState, 'variables' | 'secretVariables'> };

/** Adds the variables that the last `up` was given and `env` does not have. An empty one counts as given. */
export function withKeptVariables(env: Env): Env {
  return { ...readState(homeOf(env)).variables, ...env };
}

type Options = { forget: boolean; onProgress: (line: string) => void };

/**
 * Returns the configuration of an `up`: from its own variables and those that the last `up` was given. Reports each
 * variable that it keeps or drops.
 *
 * @param forget uses only the variables in `env`
 * @throws StackError for a secret that the last `up` was given, and for a file of it that no longer exists
 */
export function variablesForUp(env: Env, { forget, onProgress }: Options): GivenVariables {
  const { variables: last, secretVariables: lastSecrets = [] } = readState(homeOf(env));
  const all = forget ? env : { ...last, ...env };
  for (const name of lastSecrets)
    if (env[name] === undefined && !forget)
      throw new StackError(
        `${name}: the last \`coevolve up\` was given it; it is secret and therefore not kept`,
        `set ${name} as before, or coevolve up --forget`,
      );
  for (const name of Object.values(settingsFiles))
    if (last[name] && all[name] === last[name] && !existsSync(last[name]))
      throw new StackError(
        `${name}: ${last[name]} of the last \`coevolve up\` no longer exists`,
        `coevolve up --forget, or set ${name}`,
      );
  const config = readConfig(all);
  const given = Object.entries({ ...all, ...resolved(all, config) }).filter(
    (entry): entry is [string, string] => isOurs(entry[0]) && !!entry[1],
  );
  const variables = Object.fromEntries(given.filter(([name, value]) => !isSecret(name, value)));
  for (const [name, value] of Object.entries(last)) {
    if (!(name in variables)) onProgress(`${name}: ${shownValue(name, value)} of the last \`coevolve up\` is dropped`);
    else if (env[name] === undefined)
      onProgress(`${name}: keeps ${shownValue(name, value)} of the last \`coevolve up\`; --forget drops what is kept`);
  }
  const secretVariables = given.filter(([name, value]) => isSecret(name, value)).map(([name]) => name);
  return { config, given: { variables, secretVariables } };
}

/** A variable that the last `up` was given; `here`: its value in `env`, if that is another. */
export type KeptVariable = { name: string; value: string; here: string | null };

/** Lists the variables that are kept for a home, and those of `env` that its last `up` was not given. */
export function listKeptVariables(env: Env): { kept: KeptVariable[]; notGiven: string[] } {
  const { variables, secretVariables = [] } = readState(homeOf(env));
  const { given } = variablesForUp(env, { forget: true, onProgress: () => undefined });
  return {
    kept: Object.entries(variables).map(([name, value]) => {
      const here = given.variables[name];
      return { name, value, here: here === undefined || here === value ? null : here };
    }),
    notGiven: [...Object.keys(given.variables), ...(given.secretVariables ?? [])].filter(
      (name) => !(name in variables) && !secretVariables.includes(name),
    ),
  };
}

/** The path of a webhook is often its password. */
export const shownValue = (name: string, value: string): string =>
  name === 'COEVOLVE_NOTIFY_URL' ? 'the address' : value;

/** Variables that configure the stack, of the product or of Temporal's client. */
const isOurs = (name: string): boolean =>
  /^(COEVOLVE_|TEMPORAL_|DATABASE_URL$)/.test(name) &&
  !/^COEVOLVE_(HOME|STACK|FAILPOINT|DUPLICATE_SHARE|KILL_SHARE)$/.test(name);

/** A key or a password, or the keys of payloads: a process has those only if its operator gives them. */
const isSecret = (name: string, value: string): boolean =>
  /^(COEVOLVE_PAYLOAD_KEYS|TEMPORAL_API_KEY|TEMPORAL_GRPC_META_.*|TEMPORAL_TLS_.*_DATA)$/.test(name) ||
  (URL.canParse(value) && new URL(value).password !== '');

/** Replaces relative paths: the next `up` may run in another folder. */
function resolved(env: Env, config: Config): Env {
  const ofConfig = variablesOf(config);
  const file = env['TEMPORAL_CONFIG_FILE'];
  return {
    ...Object.fromEntries(Object.entries(ofConfig).filter(([name]) => env[name])),
    ...(file ? { TEMPORAL_CONFIG_FILE: path.resolve(file) } : {}),
  };
}
