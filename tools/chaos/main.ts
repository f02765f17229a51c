import { mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../../src/errors/errors';
import { printMessage, printResult } from '../../src/cli/output/output';
import { duration, percent } from '../../src/domain/formats';
import { explain } from '../../src/errors/explain';
import { readConfig } from '../../src/config';
import { recoveryProfiles, type RecoveryProfile } from '../../src/domain/campaign/memo';
import { loadExperiment } from '../../src/specification/experiment/read-experiment';
import { maxCampaigns } from './campaign-specs';
import { ChaosError } from './chaos-error';
import { chaosResult, type ChaosResult } from './chaos-result';
import { faultNames, faultPlan, faultText, type FaultName } from './fault-plan';
import { runChaos } from './run-chaos';
import { number, text } from '../../src/tables/table';
import { terminalTable } from '../../src/tables/terminal-table';

type Options = {
  seed: number;
  kills: number;
  killShare: number;
  profile: RecoveryProfile;
  campaigns: number;
  experiment?: string;
  workers: number;
  epochs: number;
  latency: number;
  faults: FaultName[];
  home?: string;
  json?: boolean;
};

async function chaos({ seed, kills, json, home, experiment: file, ...options }: Options): Promise<void> {
  const config = readConfig();
  const experiment = file === undefined ? null : await loadExperiment(file);
  if (!experiment && options.campaigns === 0)
    throw new UsageError('--campaigns: found 0, expected 1 or more, or --experiment');
  const plan = faultPlan(seed, kills, options.faults);
  printMessage(`seed ${seed}, ${kills} kills, faults: ${plan.map(faultText).join(', ')}`);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new ChaosError(`interrupted by ${signal}`)));
  const run = await runChaos(config, {
    ...options,
    plan,
    experiment,
    latencyMs: options.latency,
    home: home ?? newHome(config.home),
    onProgress: printMessage,
    signal: stop.signal,
  });
  const result = chaosResult(run);
  printResult(json, { seed, ...options, experiment: file, ...result }, () => resultText(result));
  if (!result.ok) throw new ChaosError('a campaign or the experiment differs from its undisturbed run: see "failures"');
}

function newHome(parent: string): string {
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(path.join(parent, 'chaos-'));
}

function resultText(result: ChaosResult): string {
  const { targets, parked, failures, undisturbed } = result;
  const { kills, lost, duplicated, wrong, hashEqual, campaigns, seconds } = result;
  return [
    `${kills} kills in ${duration(seconds)} over ${campaigns} campaigns: ${lost} lost, ${duplicated} duplicated, ${wrong} otherwise wrong`,
    `content hash ${hashEqual ? 'equal to' : 'DIFFERENT from'} the undisturbed run's (${duration(undisturbed.seconds)})`,
    `recovered within ${result.mttrP50Ms} ms (p50), ${result.mttrP95Ms} ms (p95)`,
    `repeated work: ${percent(result.wasteRatio, 2)}; training or playing ${percent(result.ettr)} of the time (undisturbed ${percent(undisturbed.ettr)})`,
    '',
    terminalTable(Object.entries(targets), [
      text('killed', ([name]) => name),
      number('kills', ([, target]) => target.kills),
      number('cut off', ([, target]) => target.cutOff),
      number('p50 ms', ([, target]) => target.p50Ms),
      number('p95 ms', ([, target]) => target.p95Ms),
    ]),
    ...Object.entries(parked).map(([reason, times]) => `parked ${times} times: ${reason}`),
    ...failures.map((failure) => JSON.stringify(failure, null, 1)),
  ].join('\n');
}

const integer =
  (min: number, max: number) =>
  (input: string): number => {
    const value = Number(input);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected an integer in ${min}..${max}`);
  };

function fraction(input: string): number {
  const value = Number(input);
  if (input !== '' && value >= 0 && value < 1) return value;
  throw new InvalidArgumentError('expected a number in [0, 1)');
}

function profile(input: string): RecoveryProfile {
  const found = recoveryProfiles.find((name) => name === input);
  if (found) return found;
  throw new InvalidArgumentError(`expected ${recoveryProfiles.join(' or ')}`);
}

function faults(input: string): FaultName[] {
  return input.split(',').map((name) => {
    const found = faultNames.find((faultName) => faultName === name.trim());
    if (found) return found;
    throw new InvalidArgumentError(`found "${name}", expected one of ${faultNames.join(', ')}`);
  });
}

const program = new Command('chaos')
  .description('run campaigns under faults and compare them with an undisturbed run')
  .option('--seed <n>', 'seed of the fault plan', integer(0, 2 ** 31 - 1), 1)
  .option('--kills <n>', 'number of processes to kill', integer(0, 100_000), 60)
  .option('--kill-share <share>', 'fraction of activity attempts whose worker is killed mid-run', fraction, 0)
  .option('--profile <name>', `recovery profile: ${recoveryProfiles.join(' or ')}`, profile, 'fast')
  .option('--campaigns <n>', 'concurrent campaigns; 0 with an experiment alone', integer(0, maxCampaigns), 2)
  .option('--experiment <file>', 'an experiment that is played beside the campaigns')
  .option('--workers <n>', 'workers per role', integer(1, 8), 1)
  .option('--epochs <n>', 'training epochs; 1 is minimal', integer(1, 500), 1)
  .option('--latency <ms>', 'delay of policy responses in ms, to simulate large policies', integer(0, 60_000), 0)
  .option('--faults <list>', `comma-separated: ${faultNames.join(',')}`, faults, [...faultNames])
  .option('--home <folder>', 'empty folder for the stack (default: new, removed on success)')
  .option('--json', 'print the result as JSON')
  .action(chaos);

program.parseAsync().catch((error: unknown) => {
  printMessage(explain(error));
  process.exitCode = 1;
});
