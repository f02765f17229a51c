// Plays attempts of lognormal lengths through the whole service and in a plain asyncio loop, and compares both times with an
// ideal queue of as many places: `npm run bench:service`. Attempts only sleep, so the ratios show the cost of the service.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { inspect, promisify } from 'node:util';
import { Command } from 'commander';
import { idealSeconds, lognormalLengths } from './attempt-lengths';
import { readConfig } from '../../src/config';
import { withService, type Played, type Service } from './service-under-load';
import type { SleepingServers } from './sleeping-servers';

type Options = {
  attempts: number;
  places: number;
  attemptMs: number;
  turns: number;
  sigma: number[];
  workers: number[];
  steps: number;
  json?: boolean;
};

type Row = {
  /** `bare`: a plain asyncio loop over the same servers, without any guarantee. */
  system: 'coevolve' | 'bare';
  attemptMs: number;
  turns: number;
  sigma: number;
  /** Rollout workers, or loops. */
  workers: number;
  /** Places of all workers. */
  places: number;
  attempts: number;
  /** Parts that were played one after the other, as reinforcement learning plays its steps. */
  steps: number;
  seconds: number;
  idealSeconds: number;
  /** To the ideal queue. */
  ratio: number;
  /** To the bare loop. */
  bareRatio: number;
  /** Processor milliseconds of an attempt, by process. */
  cpuMs: Record<string, number>;
} & Partial<Pick<Played, 'shares' | 'events' | 'historyBytes' | 'transactions'>>;

async function bench(options: Options): Promise<void> {
  const { places, turns, sigma, workers, json } = options;
  const rows: Row[] = [];
  for (const count of workers)
    await withService({ workers: count, places: places / count, turns }, async (service, servers) => {
      servers.setLengths([]);
      await service.play(places); // the first rollout of a process also compiles its code
      for (const spread of sigma)
        for await (const row of playSpread(options, spread, count, { service, servers })) {
          rows.push(row);
          if (!json) process.stdout.write(lineOf(row));
        }
    });
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
}

/** Plays attempts of one spread in a bare loop, in one rollout, and in steps. */
async function* playSpread(
  { attempts, places, attemptMs, turns, steps }: Options,
  sigma: number,
  workers: number,
  { service, servers }: { service: Service; servers: SleepingServers },
): AsyncGenerator<Row> {
  const lengths = lognormalLengths(attempts, { mean: attemptMs / 1000, sigma });
  const setLengths = (part: readonly number[]): void => servers.setLengths(part.map((seconds) => seconds / turns));
  setLengths(lengths);
  const bare = await playBare(servers, { attempts, places, turns });
  const idealTime = idealSeconds(lengths, places);
  const setting = { attemptMs, turns, sigma, places, attempts, idealSeconds: idealTime };
  const ratios = (seconds: number) => ({ seconds, ratio: seconds / idealTime, bareRatio: seconds / bare.seconds });
  const loop = { loop: (1000 * bare.cpuSeconds) / attempts };
  yield { system: 'bare', ...setting, workers: 1, steps: 1, ...ratios(bare.seconds), cpuMs: loop };
  for (const parts of new Set([1, steps])) {
    const played: Played[] = [];
    for (const part of inParts(lengths, parts)) {
      setLengths(part);
      played.push(await service.play(part.length));
    }
    const seconds = sum(played.map((part) => part.seconds));
    yield { system: 'coevolve', ...setting, workers, steps: parts, ...ratios(seconds), ...totals(played) };
  }
}

/** Plays the attempts in a plain asyncio loop, in another process. */
async function playBare(
  { environmentUrl, policyUrl }: SleepingServers,
  { attempts, places, turns }: { attempts: number; places: number; turns: number },
): Promise<{ seconds: number; cpuSeconds: number }> {
  const { python } = readConfig({ PATH: process.env['PATH'] });
  const program = path.join(__dirname, 'bare_loop.py');
  const counts = [attempts, places, turns].map(String);
  const { stdout } = await promisify(execFile)(python, [program, environmentUrl, policyUrl, ...counts]);
  return JSON.parse(stdout) as { seconds: number; cpuSeconds: number };
}

/** Joins the parts of a rollout. */
function totals(played: readonly Played[]): Omit<Played, 'seconds'> {
  const mean = (numbers: number[]): number => sum(numbers) / numbers.length;
  const [first] = played;
  return {
    shares: first!.shares.map((_, n) => sum(played.map(({ shares }) => shares[n] ?? 0))),
    events: sum(played.map(({ events }) => events)),
    historyBytes: sum(played.map(({ historyBytes }) => historyBytes)),
    transactions: mean(played.map(({ transactions }) => transactions)),
    cpuMs: Object.fromEntries(
      Object.keys(first!.cpuMs).map((name) => [name, mean(played.map(({ cpuMs }) => cpuMs[name] ?? 0))]),
    ),
  };
}

const sum = (numbers: number[]): number => numbers.reduce((all, number) => all + number, 0);

/** Splits lengths into consecutive parts of about equal size; reinforcement learning plays one after the end of another. */
const inParts = (lengths: number[], parts: number): number[][] =>
  Array.from({ length: parts }, (_, n) =>
    lengths.slice(Math.round((lengths.length * n) / parts), Math.round((lengths.length * (n + 1)) / parts)),
  );

function lineOf(row: Row): string {
  const { system, sigma, workers, steps, seconds, idealSeconds: ideal, ratio, bareRatio, cpuMs } = row;
  const cpu = Object.entries(cpuMs)
    .filter(([, ms]) => ms >= 0.05)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`);
  const parts = [
    `${system}, sigma ${sigma}, ${workers} workers${steps > 1 ? `, ${steps} steps` : ''}: ${seconds.toFixed(2)} s`,
    ...(ideal > 0 ? [`ideal ${ideal.toFixed(2)} s`, `ratio ${ratio.toFixed(3)}`] : []),
    `to the bare loop ${bareRatio.toFixed(3)}`,
    `processor ms an attempt: ${cpu.join(', ')}`,
  ];
  if (row.shares)
    parts.push(
      `attempts by worker ${row.shares.join(', ')}`,
      `${row.events} events of ${Math.round(row.historyBytes! / 1024)} KiB`,
      `${row.transactions!.toFixed(1)} transactions an attempt`,
    );
  return `${parts.join('; ')}\n`;
}

const number = (text: string): number => {
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`found ${text}, expected a number from 0`);
  return value;
};
const numbers = (text: string): number[] => text.split(',').map(number);

const program = new Command('bench:service')
  .option('--attempts <count>', 'attempts of a rollout', number, 1280)
  .option('--places <count>', 'attempts at once, of all workers together', number, 128)
  .option('--attempt-ms <ms>', 'mean length of an attempt', number, 1000)
  .option('--turns <count>', 'actions of an attempt', number, 1)
  .option('--sigma <list>', 'spreads of the lengths', numbers, [0, 0.5, 1, 1.5])
  .option('--workers <list>', 'counts of rollout workers', numbers, [1, 2, 4])
  .option('--steps <count>', 'also in this many steps, each after the end of the one before', number, 1)
  .option('--json', 'prints the rows');
void program
  .action(bench)
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`${inspect(error)}\n`);
    process.exitCode = 1;
  });
