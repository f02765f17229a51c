import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { retry } from '../../src/requests/retry';
import { startCampaign } from '../../src/client/start-campaign';
import type { Config } from '../../src/config';
import type { RecoveryProfile } from '../../src/domain/campaign/memo';
import type { LoadedExperiment } from '../../src/specification/experiment/read-experiment';
import { waitForCampaigns, type ParkedCampaigns } from './wait-for-campaigns';
import { beginExperiment, cellNames, experimentOf, verifyExperiment, waitForExperiment } from './chaos-experiment';
import { sampleEffectiveTime, type EffectiveTime } from './effective-time-ratio';
import { specsOf } from './campaign-specs';
import { bringUpChaosStack, type ChaosStack } from './chaos-stack';
import type { Fault, FaultName } from './fault-plan';
import { injectFault, type Kill } from './inject-fault';
import { takeNextFault } from './next-fault';
import { killShareLog } from '../../src/failpoints/random-faults';
import { isCorrect, verifyCampaign, type Check } from './verify-campaign';
import type { Watched } from './recovery';
import { wastedWork, type Work } from './wasted-work';
import { duration } from '../../src/domain/formats';

export type ChaosOptions = {
  home: string;
  profile: RecoveryProfile;
  plan: readonly Fault[];
  faults: readonly FaultName[];
  /** Number of concurrent campaigns. */
  campaigns: number;
  /** An experiment that every generation plays beside them, if any. */
  experiment: LoadedExperiment | null;
  /** Workers per role. */
  workers: number;
  /** Training epochs; 1 keeps the run short. */
  epochs: number;
  /** See ChaosStackOptions. */
  latencyMs: number;
  /** Fraction of activity attempts whose worker is killed mid-run. */
  killShare: number;
  onProgress: (line: string) => void;
  /** Stops the run early: the stack is stopped, its home is kept. */
  signal: AbortSignal;
};

/** One execution of the campaigns and of the experiment, which are the same in every generation. */
export type Generation = {
  number: number;
  seconds: number;
  duplicate: boolean;
  kills: Kill[];
  parked: ParkedCampaigns[];
  /** Campaigns, including the cells of experiments. */
  checks: Check[];
  experiment: Check | null;
  busy: EffectiveTime;
  work: Work;
};

export type ChaosRun = {
  undisturbed: Generation;
  generations: Generation[];
  /** Activity attempts whose worker was killed mid-run because of `killShare`. */
  attemptsKilled: number;
};

/** Kills between two lines of progress. */
const killsPerLine = 25;
/** Every third generation executes a fifth of its activities twice concurrently. */
const [duplicateEvery, duplicateShare] = [3, 0.2];

/** Returns the checks of a generation. */
export const checksOf = ({ checks, experiment }: Pick<Generation, 'checks' | 'experiment'>): Check[] =>
  experiment ? [...checks, experiment] : checks;

/**
 * Runs campaigns undisturbed, then repeats them under the faults of a plan and verifies each campaign when it has ended.
 * Stops after the first generation with a campaign that differs from the undisturbed one, and then keeps the home.
 *
 * @throws ChaosError when the campaigns make no progress; the reason of the signal; StackError
 */
export async function runChaos(from: Config, options: ChaosOptions): Promise<ChaosRun> {
  const { onProgress, faults } = options;
  const stack = await bringUpChaosStack(from, { ...options, fills: faults.includes('fill') });
  const faultsLeft = [...options.plan];
  let isSound = false;
  try {
    const first = await runGeneration(stack, options, { number: 0, faultsLeft: [], undisturbed: null });
    onProgress(`undisturbed: ${summary(first)}`);
    const generations: Generation[] = [];
    isSound = checksOf(first).every(isCorrect);
    while (isSound && (faultsLeft.length > 0 || (generations.length === 0 && options.killShare > 0))) {
      isSound = false; // an exception in the generation also keeps the home
      const number = generations.length + 1;
      const generation = await runGeneration(stack, options, { number, faultsLeft, undisturbed: first });
      generations.push(generation);
      isSound = checksOf(generation).every(isCorrect);
      const left = faultsLeft.filter(({ kind }) => kind === 'kill').length;
      onProgress(`generation ${generation.number}: ${summary(generation)}; ${left} kills remain`);
    }
    return { undisturbed: first, generations, attemptsKilled: countLines(killShareLog(options.home)) };
  } finally {
    if (!isSound) onProgress(`kept the home: ${options.home}`);
    await stack.remove({ keepHome: !isSound });
  }
}

const countLines = (file: string): number => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);

type GenerationInput = { number: number; faultsLeft: Fault[]; undisturbed: Generation | null };

async function runGeneration(
  stack: ChaosStack,
  options: ChaosOptions,
  { number, faultsLeft, undisturbed }: GenerationInput,
): Promise<Generation> {
  const specs = specsOf(number, options.campaigns, options.epochs);
  const loaded = options.experiment && experimentOf(options.experiment, number);
  const duplicate = number % duplicateEvery === duplicateEvery - 1 && options.faults.includes('duplicate');
  if (number > 0 && (duplicate || number === 1 || number % duplicateEvery === 0))
    await stack.restartWorkers(
      { duplicateShare: duplicate ? duplicateShare : 0, killShare: options.killShare },
      options.signal,
    );
  const startedAt = Date.now();
  const generatedBefore = stack.modelProxy.generated();
  for (const spec of specs) await retryUntilUp(() => startCampaign(stack, spec));
  if (loaded) await retryUntilUp(() => beginExperiment(stack, loaded));
  const names = [...specs.map(({ name }) => name), ...(loaded ? cellNames(loaded.experiment) : [])];
  const ended = new AbortController();
  const watched = { stack, names, signal: AbortSignal.any([options.signal, ended.signal]) };
  const waitForEnd = async (): Promise<ParkedCampaigns[]> => {
    const parkedCampaigns = await waitForCampaigns(watched);
    if (loaded) await waitForExperiment(stack, loaded.experiment.name, watched.signal);
    return parkedCampaigns;
  };
  const [parked, kills, busy] = await Promise.all([
    waitForEnd().finally(() => ended.abort()),
    injectFaults(watched, faultsLeft, options.onProgress),
    sampleEffectiveTime(stack, names, watched.signal),
  ]).finally(() => ended.abort());
  options.signal.throwIfAborted();
  const result = { number, seconds: (Date.now() - startedAt) / 1000, duplicate, parked, kills, busy };
  const campaigns = await retryUntilUp(() => Promise.all(names.map((name) => stack.store.campaigns.getByName(name))));
  const checks = await retryUntilUp(() =>
    Promise.all(campaigns.map((campaign, n) => verifyCampaign(stack.pool, campaign, undisturbed?.checks[n]?.content))),
  );
  const experiment = loaded
    ? await retryUntilUp(() => verifyExperiment(stack, loaded.experiment.name, undisturbed?.experiment?.content))
    : null;
  if (checksOf({ checks, experiment }).every(isCorrect)) removeJobFolders(stack, names);
  const generated = stack.modelProxy.generated() - generatedBefore;
  const ids = campaigns.map(({ id }) => id);
  return { ...result, checks, experiment, work: await retryUntilUp(() => wastedWork(stack.pool, ids, generated)) };
}

/** Frees space on the small disk. Policies are kept: every generation makes the same ones. */
const removeJobFolders = ({ config }: ChaosStack, names: readonly string[]): void =>
  names.forEach((name) =>
    rmSync(path.join(config.artifacts, 'jobs', 'campaign', name), { recursive: true, force: true }),
  );

/** Injects faults one by one until the campaigns have ended; the next generation gets the remaining ones. */
async function injectFaults(
  watched: Watched,
  faultsLeft: Fault[],
  onProgress: (line: string) => void,
): Promise<Kill[]> {
  const startedAt = Date.now();
  const kills: Kill[] = [];
  while (faultsLeft.length > 0 && !watched.signal.aborted) {
    const fault = await takeNextFault(watched, faultsLeft);
    const kill = await injectFault(watched, fault, startedAt);
    if (!kill && fault.kind === 'kill') faultsLeft.push(fault); // its target did not run: repeat later
    if (!kill) continue;
    kills.push(kill);
    if (kills.length % killsPerLine === 0)
      onProgress(`${kills.length} kills, last: ${kill.target} (recovery ${kill.ms ?? '-'} ms)`);
  }
  return kills;
}

/** Repeats a request for at most a minute: a server may still restart after its last kill. */
const retryUntilUp = <T>(query: () => Promise<T>): Promise<T> =>
  retry(query, { shouldRetry: () => true, timeoutMs: 60_000, firstMs: 250 });

function summary({ seconds, kills, parked, checks, experiment, duplicate }: Generation): string {
  const correct = checks.filter(isCorrect).length;
  return [
    `${duration(seconds)}, ${kills.length} kills, ${correct} of ${checks.length} campaigns correct`,
    ...(experiment ? [`analysis ${experiment.content.hash}${isCorrect(experiment) ? '' : ' WRONG'}`] : []),
    ...(duplicate ? ['a fifth of the activities executed twice'] : []),
    ...(parked.length > 0 ? [`parked ${parked.length} times`] : []),
  ].join(', ');
}
