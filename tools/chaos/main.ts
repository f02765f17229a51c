import { ChaosError } from './chaos-error';
import { mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { mostCampaigns } from './campaign-specs';
import { chaosResult, type ChaosResult } from './chaos-result';
import type { ChaosStack } from './chaos-stack';
import { faultNames, faultPlan, faultText, type FaultName } from './fault-plan';
import { runChaos } from './run-chaos';
import { readConfig } from '../../src/config';
import { recoveryProfiles, type RecoveryProfile } from '../../src/domain/campaign/memo';
import type { CampaignSpec } from '../../src/spec/campaign-spec';
import { createStore } from '../../src/store';
import { explain } from '../../src/cli/explain';
import { duration, printResult, say, table } from '../../src/cli/base/output';
import { startCampaign } from '../../src/client/start-campaign';

type Options = {
  seed: number;
  kills: number;
  killShare: number;
  profile: RecoveryProfile;
  campaigns: number;
  workers: number;
  epochs: number;
  latency: number;
  faults: FaultName[];
  home?: string;
  json?: boolean;
};

async function chaos({ seed, kills, json, home, ...options }: Options): Promise<void> {
  const config = readConfig();
  const plan = faultPlan(seed, kills, options.faults);
  say(`seed ${seed}, ${kills} kills, faults: ${plan.map(faultText).join(', ')}`);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new ChaosError(`interrupted by ${signal}`)));
  const run = {
    plan,
    latencyMs: options.latency,
    home: home ?? newHome(config.home),
    start,
    tell: say,
    signal: stop.signal,
  };
  const done = await runChaos(config, { ...options, ...run });
  const result = chaosResult(done);
  printResult(json, { seed, ...options, ...result }, () => resultText(result));
  if (!result.ok) throw new ChaosError('a campaign differs from its undisturbed run: see "failures"');
}

function newHome(beside: string): string {
  mkdirSync(beside, { recursive: true });
  return mkdtempSync(path.join(beside, 'chaos-'));
}

const start = ({ config, pool, client }: ChaosStack, spec: CampaignSpec) =>
  startCampaign(
    {
      ...{ config, pool, store: createStore(pool), artifacts: artifactStore(config.artifacts) },
      temporal: () => Promise.resolve(client),
    },
    spec,
  );

function resultText(result: ChaosResult): string {
  const { targets, parked, failures, undisturbed } = result;
  const rows = Object.entries(targets).map(([name, { kills, cutOff, p50Ms, p95Ms }]) => [
    name,
    kills,
    cutOff,
    p50Ms,
    p95Ms,
  ]);
  const { kills, lost, duplicated, wrong, hashEqual, campaigns, seconds } = result;
  return [
    `${kills} kills in ${duration(seconds)} over ${campaigns} campaigns: ${lost} lost, ${duplicated} duplicated, ${wrong} otherwise wrong`,
    `content hash ${hashEqual ? 'equal to' : 'DIFFERENT from'} the undisturbed run's (${duration(undisturbed.seconds)})`,
    `recovered within ${result.mttrP50Ms} ms (p50), ${result.mttrP95Ms} ms (p95)`,
    `work done again: ${(100 * result.wasteRatio).toFixed(2)} %; training or playing ${(100 * result.ettr).toFixed(1)} % of the time (undisturbed ${(100 * undisturbed.ettr).toFixed(1)} %)`,
    '',
    table(['killed', 'kills', 'cut off', 'p50 ms', 'p95 ms'], rows),
    ...Object.entries(parked).map(([reason, times]) => `parked ${times} times: ${reason}`),
    ...failures.map((failure) => JSON.stringify(failure, null, 1)),
  ].join('\n');
}

const integer =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number in ${least}..${most}`);
  };

function share(text: string): number {
  const value = Number(text);
  if (text !== '' && value >= 0 && value < 1) return value;
  throw new InvalidArgumentError('expected a share in [0, 1)');
}

function profile(text: string): RecoveryProfile {
  const found = recoveryProfiles.find((name) => name === text);
  if (found) return found;
  throw new InvalidArgumentError(`expected ${recoveryProfiles.join(' or ')}`);
}

function faults(text: string): FaultName[] {
  return text.split(',').map((name) => {
    const found = faultNames.find((known) => known === name.trim());
    if (found) return found;
    throw new InvalidArgumentError(`"${name}" is none of ${faultNames.join(', ')}`);
  });
}

const program = new Command('chaos')
  .description('run campaigns under kills and other faults, and compare them with an undisturbed run')
  .option('--seed <n>', 'the same seed gives the same faults', integer(0, 2 ** 31 - 1), 1)
  .option('--kills <n>', 'how many processes to kill', integer(0, 100_000), 60)
  .option('--kill-share <share>', 'share of activity attempts to kill besides, under their hands', share, 0)
  .option('--profile <name>', `recovery profile: ${recoveryProfiles.join(' or ')}`, profile, 'fast')
  .option('--campaigns <n>', 'campaigns side by side', integer(1, mostCampaigns), 2)
  .option('--workers <n>', 'workers of every role', integer(1, 8), 1)
  .option('--epochs <n>', 'how long they train; 1 is next to nothing', integer(1, 500), 1)
  .option('--latency <ms>', 'keep back what the policy generates, as if it were large', integer(0, 60_000), 0)
  .option('--faults <list>', `which of ${faultNames.join(',')}`, faults, [...faultNames])
  .option('--home <folder>', 'an empty folder for the stack; by default a new one, removed when all is well')
  .option('--json', 'print the result as JSON')
  .action(chaos);

program.parseAsync().catch((error: unknown) => {
  say(explain(error));
  process.exitCode = 1;
});
