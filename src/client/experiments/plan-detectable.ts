import type { Config } from '../../config';
import type { Experiment } from '../../domain/experiment/experiment';
import { planPower } from '../../statistics/plan-power';

/** Deviations of one arm's success from run to run before any was measured: the likely one, and a range around it. */
const priorRunSds = [0.025, 0.01, 0.04];
/** Share of the tasks that only one of two runs solves, over pairs of quickstarts. */
const priorDiscordance = 0.24;

/** Differences of the primary contrast that are found with 80 % power; null: the number of seeds finds none. */
export type Detectable = { runSd: number; differences: { seeds: number; difference: number | null }[] };

/** Returns the detectable differences at every look, by deviation; null where the prior says nothing or no test is possible. */
export async function planDetectable(
  config: Pick<Config, 'python'>,
  { looks, analysis }: Pick<Experiment, 'looks' | 'analysis'>,
  tasks: number,
): Promise<Detectable[] | null> {
  if (analysis.metric !== 'success' || tasks === 0 || looks[0]! < 2) return null;
  const { deviations } = await planPower(config, {
    ...{ alpha: analysis.alpha, looks, seeds: looks, tasks, differences: [] },
    ...{ runSds: priorRunSds, discordance: priorDiscordance },
  });
  return deviations.map(({ runSd, detectable }) => ({ runSd, differences: detectable }));
}
