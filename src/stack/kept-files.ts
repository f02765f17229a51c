import { existsSync } from 'node:fs';
import { StackError } from '../errors/errors';
import { settingsFiles, type Config, type SettingsFile } from '../config';
import type { Stack } from './service-definition';
import { withKeptFiles, writeState, type StackState } from './stack-state';

type Report = (line: string) => void;

/**
 * Adds the files that an earlier `up` was given to the configuration, and stores the files for the next one.
 *
 * @param forget drops the files that the configuration does not name
 * @throws StackError for a file that no longer exists
 */
export function keepFiles({ config, state }: Stack, forget: boolean, report: Report): Config {
  const kept = forget ? config : withKeptFiles(config, state);
  const files: StackState['files'] = {};
  for (const [name, variable] of Object.entries(settingsFiles) as [SettingsFile, string][]) {
    const [last, file] = [state.files?.[name], kept[name]];
    if (file) files[name] = file;
    if (last && !file) report(`${variable}: ${last} of the last \`coevolve up\` is dropped`);
    if (!file || config[name]) continue;
    if (!existsSync(file))
      throw new StackError(
        `${variable}: ${file} of the last \`coevolve up\` no longer exists`,
        `coevolve up --forget, or set ${variable}`,
      );
    report(`${variable}: keeps ${file} of the last \`coevolve up\`; --forget drops it`);
  }
  warnOfPayloadKeys(config, state, report);
  state.files = files;
  if (config.payloadKeysFile) state.payloadKeysFile = config.payloadKeysFile;
  else if (forget) delete state.payloadKeysFile;
  writeState(config.home, state);
  return kept;
}

/** The path of the keys is never kept: a process has the keys only if its operator gives them. */
function warnOfPayloadKeys({ payloadKeysFile }: Config, state: StackState, report: Report): void {
  if (payloadKeysFile || !state.payloadKeysFile) return;
  report(
    `warning: COEVOLVE_PAYLOAD_KEYS is not set, and was ${state.payloadKeysFile} before: workers cannot read sealed payloads`,
  );
}
