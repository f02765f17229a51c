import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { Config } from '../../config';
import { checkEnvironment, type CheckReport, type Count } from '../../envs/check/check-environment';
import type { ConstantAnswer } from '../../envs/check/constant-answers';
import { createEnvironments, type Environments } from '../../envs/environments';
import { checkedLengths, type CheckedLengths } from '../../client/fit/checked-lengths';
import { DomainError } from '../../domain/errors';
import { isOutdated } from '../../stack';
import { jsonObject } from '../arguments/json-object';
import { printMessage, printOver, printResult } from '../output/output';
import { paint } from '../../tables/terminal-text';
import { currentConfig, givenConfig } from '../../client/connections';
import { count, duration, interval, rounded } from '../../domain/formats';
import { text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

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

/** `coevolve env check <name>`: plays episodes; exit code 1 when a check fails, 2 when no episode was won. */
export function addEnvCheck(env: Command): void {
  env
    .command('check <name>')
    .description('check rewards, determinism, concurrency and leaks by playing episodes')
    .option('--tasks <count>', 'maximum tasks per split, or "all"', countOrAll, 20)
    .option('--split <split>', 'train, held-out or both', 'both')
    .option('--concurrency <sessions>', 'concurrent sessions, at most the capacity', integer, 64)
    .option('--kills <episodes>', 'episodes whose client disconnects at a random turn', integer, 100)
    .option('--seed <number>', 'seed of tasks, wrong actions and turns', integer, 1)
    .option('--options <json>', 'environment options, as in a spec', jsonObject, {})
    .option('--url <url>', 'another environment server than the configured one')
    .option('--token-file <file>', 'with --url: token file of that server')
    .option('--json', 'print the report as JSON')
    .action(async (name: string, flags: Flags) => {
      const environments = createEnvironments(configOf(flags));
      if (!flags.url) requireCurrentCode(givenConfig());
      await requireCurrentFile(environments, name);
      const report = await checkEnvironment(environments, settingsOf(name, flags), progress());
      const lengths = await checkedLengths({ ...givenConfig(), ...configOf(flags) }, name, flags.options);
      printResult(flags.json, { ...report, lengths }, () => reportText(report, lengths));
      if (report.verdict !== 'passed') process.exitCode = exitCodes[report.verdict];
    });
}

const exitCodes = { failed: 1, unverified: 2 };

/** @throws DomainError `OldCode` when the server has loaded an older file of the environment */
export async function requireCurrentFile({ health }: Environments, name: string): Promise<void> {
  const { changed } = await health.read();
  if (changed.includes(name))
    throw new DomainError(
      'OldCode',
      `the file of ${name} has changed since the server loaded it; run \`coevolve up\` first`,
    );
}

/** @throws DomainError `OldCode` when the embedded server runs older code than this installation */
function requireCurrentCode(config: Config): void {
  if (isOutdated(config, 'environment-server'))
    throw new DomainError('OldCode', 'the environment server runs older code or settings; run `coevolve up` first');
}

function configOf({ url, tokenFile }: Flags): Pick<Config, 'environment' | 'environmentsFile'> {
  if (!url) return currentConfig();
  return { environment: { url, ...(tokenFile ? { token: readFileSync(tokenFile, 'utf8').trim() } : {}) } };
}

function settingsOf(environment: string, { tasks, split, concurrency, kills, seed, options }: Flags) {
  const splits = split === 'both' ? (['train', 'held-out'] as const) : [split];
  return { environment, tasks, splits, sessions: concurrency, kills, seed, options };
}

/** Returns a callback that overwrites one line on a terminal and prints a line per finished check elsewhere. */
function progress(): (check: string, done: number, all: number) => void {
  return (check, done, all) => {
    if (process.stderr.isTTY) printOver(`${check}: ${done}/${all}`, done === all);
    else if (done === all) printMessage(`${check}: ${all} played`);
  };
}

function reportText(report: CheckReport, lengths: CheckedLengths | null): string {
  const { environment, tasks, gold, wrong, floor, deterministic, concurrency, leaked, constant, verdict } = report;
  const { openings, sharedGoals } = report;
  const rows = [
    ['gold', gold ? share(gold) : 'none', 'reward 1'],
    ['wrong', share(wrong.nonsense), 'nonsense scores below 1'],
    ['', share(wrong.broken), "another task's gold or half the gold scores below 1 (half is enough)"],
    ['deterministic', share(deterministic), determinismTexts[deterministic.promise]],
    ['concurrency', share(concurrency), `${concurrency.sessions} concurrent sessions give the same results as one`],
    ...(constant ? [['constant', `${constant.solved}/${constant.tried}`, constantText(constant)]] : []),
    ['openings', `${openings.pairs.length}/${openings.compared}`, 'held-out tasks that begin exactly as a train task'],
    [
      'leaked',
      leaked.sessions,
      `sessions open ${duration(leaked.seconds)} after ${leaked.killed} clients disconnected`,
    ],
  ];
  const twins = openings.pairs.slice(0, 5).map(({ heldOut, train }) => `${heldOut} begins as ${train}`);
  const paid =
    floor && floor.highest > 0
      ? [
          `warning: nonsense scores ${rounded(floor.mean)} on average, and ${rounded(floor.highest)} in ${floor.taskId}: ` +
            'a policy gets this for doing nothing (docs/new-environment.md)',
        ]
      : [];
  const refused = sharedGoals.isRefused
    ? [
        `warning: ${sharedGoals.tasks} of ${tasks} tasks share their goal with a task of another content, so variants of them are ` +
          'refused as duplicates; declare `"admission.compare": "contents"` if their worlds differ (docs/new-environment.md)',
      ]
    : [];
  const failures = [gold, wrong.nonsense, deterministic, concurrency].flatMap((each) => each?.examples ?? []);
  return [
    `${environment}: ${tasks} tasks`,
    '',
    terminalTable(rows, [
      text('check', ([check]) => check!),
      text('result', ([, result]) => result!),
      text('expectation', ([, , expectation]) => expectation!),
    ]),
    ...(failures.length + twins.length > 0 ? ['', ...failures, ...twins] : []),
    ...(lengths ? ['', ...lengthLines(lengths)] : []),
    '',
    ...paid,
    ...refused,
    verdictTexts[verdict],
  ].join('\n');
}

function lengthLines({ trajectories, min, median, max, basis, fitting }: CheckedLengths): string[] {
  const found = `${interval(min, max, count)} tokens, median ${count(median)}`;
  return [
    `lengths of ${trajectories} trajectories of reference actions: ${found} (${basis})`,
    ...Object.entries(fitting).map(([key, value]) => `  ${key}: at least ${value}`),
  ];
}

const constantText = ({ actions }: ConstantAnswer): string =>
  `solved by the best constant answer: ${JSON.stringify(actions).slice(0, 60)}`;

const verdictTexts = {
  passed: paint.green('passed'),
  failed: paint.red('failed'),
  unverified: paint.yellow(
    'not verified: no episode was won, so no reward was checked; import experts and replay them',
  ),
};

const share = ({ good, tried }: Count): string => `${good}/${tried}`;

const determinismTexts = {
  observations: 'the same actions give the same observations and reward',
  score: 'the same actions give the same reward',
  none: 'the environment declares no determinism: informative',
};

function integer(input: string): number {
  if (!/^\d{1,9}$/.test(input)) throw new InvalidArgumentError('expected an integer');
  return Number(input);
}

const maxTasks = 20_000; // per request of the server

const countOrAll = (input: string): number => (input === 'all' ? maxTasks : integer(input));
