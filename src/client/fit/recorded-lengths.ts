import type { CampaignSpec } from '../../specification/campaign-spec';
import type { MeasuredLengths } from '../../specification/estimate-training';
import { tokensOf } from './measure-lengths';

/**
 * Mean actions, and characters with the functions' own, of the reference trajectories that `start` draws by default: train
 * tasks, seed 1. ALFWorld, AppWorld and WebShop need data of their own, so none is recorded for them.
 */
const recorded: Record<
  string,
  { tasks: number; actions: number; mean: number; min: number; median: number; max: number; spread: number }
> = {
  'appworld-mini': { tasks: 6, actions: 3, mean: 3219, min: 3172, median: 3259, max: 3271, spread: 1.01 },
  bfcl: { tasks: 20, actions: 7.5, mean: 21_311, min: 11_576, median: 19_264, max: 37_343, spread: 1.18 },
  'intercode-sql': { tasks: 20, actions: 2, mean: 280, min: 137, median: 277, max: 491, spread: 1.14 },
  scienceworld: { tasks: 20, actions: 25.1, mean: 3886, min: 1308, median: 3549, max: 8894, spread: 1.22 },
  'textworld-express': { tasks: 20, actions: 7.7, mean: 1753, min: 401, median: 1794, max: 3478, spread: 1.19 },
  warehouse: { tasks: 20, actions: 5, mean: 435, min: 416, median: 436, max: 454, spread: 1.01 },
};

/** Returns the recorded lengths of a spec's environment, for a host where no server plays it; null if there are none. */
export function recordedLengths({ environment, policy }: CampaignSpec): MeasuredLengths | null {
  const sizes = recorded[environment.name];
  if (!sizes) return null;
  const { actions, spread } = sizes;
  const tokens = (characters: number): number => tokensOf(policy.source, actions, characters);
  return {
    trajectories: sizes.tasks,
    mean: tokens(sizes.mean),
    min: tokens(sizes.min),
    median: tokens(sizes.median),
    max: tokens(sizes.max),
    spread,
    basis: 'recorded, because no server played them',
    rows: null,
    turnLimits: null,
  };
}
