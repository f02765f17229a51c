import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig, type Config } from '../../src/config';
import { stackDown } from '../../src/stack';

/** Returns a configuration with an empty home and no external server; only program paths come from the caller. */
export function temporaryHome(env: Record<string, string> = {}, parent = tmpdir()): Config {
  const home = mkdtempSync(path.join(parent, 'coevolve-stack-'));
  const { PATH = '', COEVOLVE_PYTHON = '', COEVOLVE_TEMPORAL_BIN = '' } = process.env;
  return readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home, ...env });
}

export async function removeHome(config: Config): Promise<void> {
  await stackDown(config);
  rmSync(config.home, { recursive: true, force: true });
}
