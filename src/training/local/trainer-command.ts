import { z } from 'zod';

export type TrainerCommand = { args: string[]; env: Record<string, string> };

const launch = z.looseObject({
  processes: z.number().int().min(1).default(1),
  threads: z.number().int().min(1).default(1),
});

/**
 * How a Python interpreter is told to do the job of a folder. Several processes are started by torch's launcher, which
 * gives each its rank and ends all when one fails; nothing is restarted there: a job that died is submitted again.
 *
 * @param settings of the job, as the trainer spells them: `processes`, `threads` (of torch, per process)
 */
export function trainerCommand(settings: Record<string, unknown>, folder: string): TrainerCommand {
  const { processes, threads } = launch.parse(settings);
  const trainer = ['-m', 'coevolve_trainer', 'run', folder];
  const launcher = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(processes)];
  return {
    args: processes > 1 ? [...launcher, ...trainer] : trainer,
    env: { OMP_NUM_THREADS: String(threads), HF_HUB_OFFLINE: '1', PYTHONUNBUFFERED: '1' },
  };
}
