import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { retry } from '../../src/base/retry';
import type { Config } from '../../src/config';
import type { RecoveryProfile } from '../../src/domain/campaign/memo';
import { createStore } from '../../src/store';
import type { ContentHash } from '../../src/store/audit/content-hash';
import type { CampaignSpec } from '../../src/spec/campaign-spec';
import { waitForCampaigns, type ParkedCampaigns } from './wait-for-campaigns';
import { sampleEffectiveTime, type EffectiveTime } from './effective-time-ratio';
import { specsOf } from './campaign-specs';
import { bringUpChaosStack, type ChaosStack } from './chaos-stack';
import type { Fault, FaultName } from './fault-plan';
import { injectFault, type Kill } from './inject-fault';
import { takeNextFault } from './next-fault';
import { killShareLog } from '../../src/failpoints/kill-share';
import { isCorrect, verifyCampaign, type CampaignCheck } from './verify-campaign';
import type { Watched } from './recovery';
import { wastedWork, type Work } from './wasted-work';

export type ChaosOptions = {
  home: string;
  profile: RecoveryProfile;
  plan: readonly Fault[];
  faults: readonly FaultName[];
  /** How many campaigns run side by side. */
  campaigns: number;
  /** How many workers of every role do their work. */
  workers: number;
  /** How long they train: next to nothing by default, so that little but the faults takes time. */
  epochs: number;
  /** See ChaosStackOptions. */
  latencyMs: number;
  /** Share of activity attempts whose worker is killed under them; generations run on until the plan is done. */
  killShare: number;
  /** Stores a campaign and starts its workflow. */
  start: (stack: ChaosStack, spec: CampaignSpec) => Promise<unknown>;
  tell: (line: string) => void;
  /** Ends the run before its time; the stack goes down, the home is kept. */
  signal: AbortSignal;
};

/** One generation: the same campaigns once more. */
export type Generation = {
  number: number;
  seconds: number;
  twice: boolean;
  kills: Kill[];
  parked: ParkedCampaigns[];
  verdicts: CampaignCheck[];
  busy: EffectiveTime;
  work: Work;
};

export type ChaosRun = {
  undisturbed: Generation;
  generations: Generation[];
  /** Activity attempts whose worker was killed under them, by the share that was asked for. */
  attemptsKilled: number;
};

/** A sign of life after so many kills. */
const tellEvery = 25;
/** Every third generation runs a fifth of its activities twice at once. */
const [twiceEvery, twiceShare] = [3, 0.2];

/**
 * Runs campaigns undisturbed, then the same ones again and again under the faults of a plan, and judges each when it has
 * ended. Ends with the first generation of which one is not as the undisturbed one was: its home is kept.
 *
 * @throws Error when something stands still; the reason of the signal; StackError
 */
export async function runChaos(from: Config, options: ChaosOptions): Promise<ChaosRun> {
  const { tell, faults } = options;
  const stack = await bringUpChaosStack(from, { ...options, fills: faults.includes('fill') });
  const faultsLeft = [...options.plan];
  let isSound = false;
  try {
    const first = await runGeneration(stack, options, { number: 0, faultsLeft: [], hashes: [] });
    tell(`undisturbed: ${summary(first)}`);
    const hashes = first.verdicts.map(({ content }) => content);
    const generations: Generation[] = [];
    isSound = first.verdicts.every(isCorrect);
    while (isSound && (faultsLeft.length > 0 || (generations.length === 0 && options.killShare > 0))) {
      isSound = false; // until it has ended well: one that stands still or is ended keeps its home
      const generation = await runGeneration(stack, options, { number: generations.length + 1, faultsLeft, hashes });
      generations.push(generation);
      isSound = generation.verdicts.every(isCorrect);
      const left = faultsLeft.filter(({ kind }) => kind === 'kill').length;
      tell(`generation ${generation.number}: ${summary(generation)}; ${left} kills to come`);
    }
    return { undisturbed: first, generations, attemptsKilled: countLines(killShareLog(options.home)) };
  } finally {
    if (!isSound) tell(`the home is kept: ${options.home}`);
    await stack.remove({ keepHome: !isSound });
  }
}

const countLines = (file: string): number => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);

type Turn = { number: number; faultsLeft: Fault[]; hashes: ContentHash[] };

async function runGeneration(
  stack: ChaosStack,
  options: ChaosOptions,
  { number, faultsLeft, hashes }: Turn,
): Promise<Generation> {
  const specs = specsOf(number, options.campaigns, options.epochs);
  const twice = number % twiceEvery === twiceEvery - 1 && options.faults.includes('twice');
  if (number > 0 && (twice || number === 1 || number % twiceEvery === 0))
    await stack.restartWorkers({ twice: twice ? twiceShare : 0, killShare: options.killShare }, options.signal);
  const startedAt = Date.now();
  const generatedBefore = stack.gate.generated();
  for (const spec of specs) await patiently(() => options.start(stack, spec));
  const campaigns = await patiently(() =>
    Promise.all(specs.map(({ name }) => createStore(stack.pool).campaigns.getByName(name))),
  );
  const names = specs.map(({ name }) => name);
  const campaignIds = campaigns.map(({ id }) => id);
  const ended = new AbortController();
  const watched = { stack, campaignIds, names, signal: AbortSignal.any([options.signal, ended.signal]) };
  const [parked, kills, busy] = await Promise.all([
    waitForCampaigns(watched).finally(() => ended.abort()),
    inflictAll(watched, faultsLeft, options.tell),
    sampleEffectiveTime(stack, names, watched.signal),
  ]).finally(() => ended.abort());
  options.signal.throwIfAborted();
  const result = { number, seconds: (Date.now() - startedAt) / 1000, twice, parked, kills, busy };
  const verdicts = await patiently(() =>
    Promise.all(campaigns.map((campaign, n) => verifyCampaign(stack.pool, campaign, hashes[n]))),
  );
  if (verdicts.every(isCorrect)) forgetJobs(stack, names);
  const generated = stack.gate.generated() - generatedBefore;
  return { ...result, verdicts, work: await patiently(() => wastedWork(stack.pool, campaignIds, generated)) };
}

/** The disk is small; policies, of which every generation makes the same, are kept once. */
const forgetJobs = ({ config }: ChaosStack, names: readonly string[]): void =>
  names.forEach((name) =>
    rmSync(path.join(config.artifacts, 'jobs', 'campaign', name), { recursive: true, force: true }),
  );

/** One after the other, until the campaigns have ended; what is left is for the next generation. */
async function inflictAll(watched: Watched, faultsLeft: Fault[], tell: (line: string) => void): Promise<Kill[]> {
  const startedAt = Date.now();
  const kills: Kill[] = [];
  while (faultsLeft.length > 0 && !watched.signal.aborted) {
    const fault = await takeNextFault(watched, faultsLeft);
    const kill = await injectFault(watched, fault, startedAt);
    if (!kill && fault.kind === 'kill') faultsLeft.push(fault); // its target was not there: later
    if (!kill) continue;
    kills.push(kill);
    if (kills.length % tellEvery === 0) tell(`${kills.length} kills, the last: ${kill.target} (${kill.ms ?? 'no'} ms)`);
  }
  return kills;
}

/** A server may still be restarting after its last kill. */
const patiently = <T>(query: () => Promise<T>): Promise<T> =>
  retry(query, { shouldRetry: () => true, timeoutMs: 60_000, firstMs: 250 });

function summary({ seconds, kills, parked, verdicts, twice }: Generation): string {
  const well = verdicts.filter(isCorrect).length;
  return [
    `${seconds.toFixed(0)} s, ${kills.length} kills, ${well} of ${verdicts.length} campaigns as they should be`,
    ...(twice ? ['a fifth of the activities twice'] : []),
    ...(parked.length > 0 ? [`${parked.length} times parked`] : []),
  ].join(', ');
}
