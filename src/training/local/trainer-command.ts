import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { TrainerConfig } from '../contract/backend-module';

export type TrainerCommand = { args: string[]; env: Record<string, string> };

const launch = z.looseObject({
  device: z.enum(['auto', 'cpu', 'cuda']).default('cpu'),
  processes: z.number().int().min(1).default(1),
  threads: z.number().int().min(1).default(1),
  engine: z.string().optional(),
  compile: z.string().optional(),
});

/** Returns the number of GPUs that a job uses on a machine with GPUs: one per process. */
export function devicesOf(settings: Record<string, unknown>): number {
  const { device, processes } = launch.parse(settings);
  return device === 'cpu' ? 0 : processes;
}

/**
 * Returns whether a job may run in a fork of the trainer server: one process of the built-in engine on a CPU. CUDA does
 * not survive a fork, and the server does not import the rest.
 */
export function isForkable(settings: Record<string, unknown>): boolean {
  const { processes, engine, compile } = launch.parse(settings);
  const computesOnCpu = settings['device'] === 'cpu' || !gpuDrivers.some((file) => existsSync(file));
  return process.platform === 'linux' && processes === 1 && engine !== 'trl' && compile !== 'on' && computesOnCpu;
}

/** Devices of the drivers through which torch finds GPUs: NVIDIA's, AMD's, and those of Windows. */
const gpuDrivers = ['/dev/nvidiactl', '/dev/kfd', '/dev/dxg'];

/**
 * Returns the arguments and the environment of Python for the job of a folder. Several processes are started by torch's
 * launcher, which assigns ranks and ends all processes when one fails. It never restarts them: a failed job is submitted
 * again.
 *
 * @param settings of the job, with the trainer's names `processes` and `threads` (torch threads per process)
 * @param devices  indices of its GPUs; empty: torch's choice
 */
export function trainerCommand(
  settings: Record<string, unknown>,
  folder: string,
  devices: readonly number[] = [],
): TrainerCommand {
  const { processes, threads } = launch.parse(settings);
  const trainer = ['-m', 'coevolve_trainer', 'run', folder];
  const launcher = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(processes)];
  return {
    args: processes > 1 ? [...launcher, ...trainer] : trainer,
    env: {
      OMP_NUM_THREADS: String(threads),
      HF_HUB_OFFLINE: '1',
      PYTHONUNBUFFERED: '1',
      ...(devices.length > 0 && { CUDA_VISIBLE_DEVICES: devices.join(','), CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }), // nvidia-smi's
    },
  };
}

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
