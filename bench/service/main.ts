// Plays attempts of lognormal lengths through the whole service and compares the time with an ideal queue of as many
// places: `npm run bench:service`. Attempts only sleep, so the ratio shows the cost of the service.
import { inspect } from 'node:util';
import { Command } from 'commander';
import { idealSeconds, lognormalLengths } from './attempt-lengths';
import { withService, type Played } from './service-under-load';

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
  system: 'coevolve';
  attemptMs: number;
  sigma: number;
  workers: number;
  /** Places of all workers. */
  places: number;
  attempts: number;
  /** Parts that were played one after the other, as reinforcement learning plays its steps. */
  steps: number;
  seconds: number;
  idealSeconds: number;
  ratio: number;
  shares: number[];
  events: number;
};

async function bench({ attempts, places, attemptMs, turns, sigma, workers, steps, json }: Options): Promise<void> {
  const rows: Row[] = [];
  for (const count of workers)
    await withService({ workers: count, places: places / count, turns }, async (service, setLengths) => {
      setLengths([]);
      await service.play(places); // the first rollout of a process also compiles its code
      for (const spread of sigma)
        for (const parts of new Set([1, steps])) {
          const lengths = lognormalLengths(attempts, { mean: attemptMs / 1000, sigma: spread });
          const played: Played[] = [];
          for (const part of inParts(lengths, parts)) {
            setLengths(part.map((seconds) => seconds / turns));
            played.push(await service.play(part.length));
          }
          const seconds = sum(played.map((part) => part.seconds));
          const ideal = idealSeconds(lengths, places);
          const row: Row = {
            system: 'coevolve',
            attemptMs,
            sigma: spread,
            workers: count,
            places,
            attempts,
            steps: parts,
            seconds,
            idealSeconds: ideal,
            ratio: seconds / ideal,
            shares: played[0]!.shares.map((_, n) => sum(played.map(({ shares }) => shares[n] ?? 0))),
            events: sum(played.map(({ events }) => events)),
          };
          rows.push(row);
          if (!json) process.stdout.write(lineOf(row));
        }
    });
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
}

const sum = (numbers: number[]): number => numbers.reduce((all, number) => all + number, 0);

/** Splits lengths into consecutive parts of about equal size; reinforcement learning plays one after the end of another. */
const inParts = (lengths: number[], parts: number): number[][] =>
  Array.from({ length: parts }, (_, n) =>
    lengths.slice(Math.round((lengths.length * n) / parts), Math.round((lengths.length * (n + 1)) / parts)),
  );

const lineOf = ({ sigma, workers, steps, seconds, idealSeconds: ideal, ratio, shares, events }: Row): string =>
  `sigma ${sigma}, ${workers} workers, ${steps} steps: ${seconds.toFixed(2)} s, ideal ${ideal.toFixed(2)} s, ratio ${ratio.toFixed(3)}, ` +
  `attempts by worker ${shares.join(', ')}, ${events} events\n`;

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
