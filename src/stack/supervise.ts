import type { Config } from '../config';
import { openHome } from '../process/home';
import { keepRunning, type KeepRunningOptions } from './supervisor';
import { announceReady } from '../process/ready-file';
import { supervised } from './all-services';

/** The supervisor's work, in the process that is to do it: keeps every service of this home running until the signal. */
export async function supervise(config: Config, options: KeepRunningOptions): Promise<void> {
  openHome(config.home);
  announceReady(config.home, 'supervisor', []);
  options.tell('keeps the services running');
  await keepRunning({ config }, supervised, options);
}
