import { z } from 'zod';

export type TrainerCommand = { args: string[]; env: Record<string, string> };

const launch = z.looseObject({
  processes: z.number().int().min(1).default(1),
  threads: z.number().int().min(1).default(1),
});

/**
 * Returns the arguments and the environment of Python for the job of a folder. Several processes are started by torch's
 * launcher, which assigns ranks and ends all processes when one fails. It restarts none: a failed job is submitted
 * again.
 *
 * @param settings of the job, with the trainer's names `processes` and `threads` (torch threads per process)
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
