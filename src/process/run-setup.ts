import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { execPath } from 'node:process';
import { UsageError } from '../errors/errors';

/**
 * Runs scripts/setup.mjs, which skips completed steps. It prints to stderr, because stdout is for results.
 *
 * @param parts names of optional parts; the script checks them
 * @throws UsageError when a step failed
 */
export async function runSetup(projectRoot: string, parts: readonly string[]): Promise<void> {
  const script = path.join(projectRoot, 'scripts', 'setup.mjs');
  const args = parts.flatMap((part) => ['--with', part]);
  const child = spawn(execPath, [script, ...args], { cwd: projectRoot, stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0)
    throw new UsageError(
      `\`node ${['scripts/setup.mjs', ...args].join(' ')}\` exited with code ${code}; its last lines name the failed step`,
    );
}
