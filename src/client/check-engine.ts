import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Config } from '../config';
import { DomainError } from '../domain/errors';
import { findProcess } from '../process/processes';
import type { CampaignSpec } from '../specification/campaign-spec';

export type EngineCheck = { problems: Error[]; unchecked: string[] };

/** Looks for the packages of the engine that a spec names, if the train worker, which runs the jobs, is on this machine. */
export async function checkEngine(
  { home, python }: Pick<Config, 'home' | 'python'>,
  { compute: { backend, engine, sharding } }: Pick<CampaignSpec, 'compute'>,
): Promise<EngineCheck> {
  const needed = new Set([
    ...(engine === 'trl' ? ['trl'] : []),
    ...(sharding === 'deepspeed' ? ['trl', 'deepspeed'] : []),
  ]);
  if (needed.size === 0) return { problems: [], unchecked: [] };
  if (backend !== 'local' || !findProcess(home, 'worker-train'))
    return { problems: [], unchecked: ['compute.engine: the packages of trl are checked by the trainer, elsewhere'] };
  const missing = await missingPackages(python, [...needed]);
  return { problems: missing.map((name) => new DomainError('NotInstalled', problems[name]!)), unchecked: [] };
}

const problems: Readonly<Record<string, string>> = {
  trl: 'compute.engine: found trl, which is not installed, expected builtin; or run `npm run setup -- --with trl`',
  deepspeed:
    'compute.sharding: found deepspeed, which is not installed, expected fsdp; or run `.venv/bin/pip install deepspeed`',
};

/** Returns the packages that Python does not find, without importing any. */
async function missingPackages(python: string, packages: readonly string[]): Promise<string[]> {
  const probe = 'import sys, importlib.util as u; print(*(n for n in sys.argv[1:] if u.find_spec(n) is None))';
  const { stdout } = await promisify(execFile)(python, ['-c', probe, ...packages], { timeout: 30_000 });
  return stdout.split(/\s+/).filter(Boolean);
}
