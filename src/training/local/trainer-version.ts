import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TrainerConfig } from '../contract/backend-module';

/**
 * Returns the sha256 of the trainer's code, its packages and the CPU's model. Asked again for every job, because the next
 * trainer process loads the code that is installed then; an answer takes 0.3 s.
 *
 * @throws Error of the process when Python or the trainer is missing
 */
export async function trainerVersion({ python, projectRoot }: TrainerConfig): Promise<string> {
  const { stdout } = await promisify(execFile)(python, ['-m', 'coevolve_trainer', 'version'], {
    cwd: projectRoot,
    timeout: 60_000,
  });
  return stdout.trim();
}
