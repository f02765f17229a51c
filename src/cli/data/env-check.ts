import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import pc from 'picocolors';
import { z } from 'zod';
import type { Config } from '../../config';
import { checkEnvironment, type CheckReport, type Count } from '../../envs/check/check-environment';
import { createEnvironments } from '../../envs/environments';
import { printResult, say, table } from '../base/output';
import { currentConfig } from '../../client/session';

type Flags = {
  tasks: number;
  split: 'train' | 'held-out' | 'both';
  concurrency: number;
  kills: number;
  seed: number;
  options: Record<string, unknown>;
  url?: string;
  tokenFile?: string;
  json?: true;
};

/** `coevolve env check <name>`: exit code 1 when the environment fails a check. */
export function addEnvCheck(env: Command): void {
  env
    .command('check <name>')
    .description('play gold and wrong episodes, alone and at once, cut clients off, and print what came of it')
    .option('--tasks <count>', 'most tasks of each split, or "all"', countOrAll, 20)
    .option('--split <split>', 'train, held-out or both', 'both')
    .option('--concurrency <sessions>', 'at once; never more than the environment serves', whole, 64)
    .option('--kills <episodes>', 'whose client is cut off at a random step', whole, 100)
    .option('--seed <number>', 'of the tasks that are drawn, the mistakes and the steps', whole, 1)
    .option('--options <json>', 'options of the environment, as in a spec', jsonObject, {})
    .option('--url <url>', 'an environment server that is not the configured one')
    .option('--token-file <file>', "with --url: the file of the server's token")
    .option('--json', 'print the report as JSON')
    .action(async (name: string, flags: Flags) => {
      const report = await checkEnvironment(createEnvironments(configOf(flags)), settingsOf(name, flags), progress());
      printResult(flags.json, report, () => textOf(report));
      if (!report.passed) process.exitCode = 1;
    });
}

function configOf({ url, tokenFile }: Flags): Pick<Config, 'environment' | 'environmentsFile'> {
  if (!url) return currentConfig();
  return { environment: { url, ...(tokenFile ? { token: readFileSync(tokenFile, 'utf8').trim() } : {}) } };
}

function settingsOf(environment: string, { tasks, split, concurrency, kills, seed, options }: Flags) {
  const splits = split === 'both' ? (['train', 'held-out'] as const) : [split];
  return { environment, tasks, splits, sessions: concurrency, kills, seed, options };
}

/** One line that is written over, where somebody looks; a line per pass elsewhere. */
function progress(): (what: string, done: number, all: number) => void {
  return (what, done, all) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what}: ${done}/${all}${done === all ? '\n' : ''}`);
    else if (done === all) say(`${what}: ${all} played`);
  };
}

function textOf(report: CheckReport): string {
  const { environment, tasks, gold, wrong, deterministic, concurrency, leaked, passed } = report;
  const rows = [
    ['gold', gold ? share(gold) : 'none', 'reward 1'],
    ['wrong', share(wrong.nonsense), 'nonsense that scores below 1'],
    ['', share(wrong.broken), "another task's gold, or half the gold: below 1 (half is enough)"],
    ['deterministic', share(deterministic), promises[deterministic.promise]],
    ['concurrency', share(concurrency), `${concurrency.sessions} sessions at once come to the same as one`],
    ['leaked', leaked.sessions, `sessions ${leaked.seconds.toFixed(1)} s after ${leaked.killed} clients were cut off`],
  ];
  const bad = [gold, wrong.nonsense, deterministic, concurrency].flatMap((count) => count?.examples ?? []);
  return [
    `${environment}: ${tasks} tasks`,
    '',
    table(['check', 'result', 'of what'], rows),
    ...(bad.length > 0 ? ['', ...bad] : []),
    '',
    passed ? pc.green('passed') : pc.red('failed'),
  ].join('\n');
}

const share = ({ good, tried }: Count): string => `${good}/${tried}`;

const promises = {
  observations: 'the same actions give the same observations and reward',
  score: 'the same actions give the same reward',
  none: 'nothing is promised: for information',
};

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number');
  return Number(text);
}

const most = 20_000; // tasks that the server gives at once

const countOrAll = (text: string): number => (text === 'all' ? most : whole(text));

function jsonObject(text: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new InvalidArgumentError('expected a JSON object such as {"source":"wheel"}');
  }
}
