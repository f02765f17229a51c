// Plays attempts of lognormal lengths through the whole service, in a plain asyncio loop and in other systems with durable
// results, and compares the times with an ideal queue of as many places: `npm run bench:service`. Attempts only sleep, so the
// ratios show the cost of the system.
import path from 'node:path';
import { inspect } from 'node:util';
import { Command } from 'commander';
import type { Load } from './load';
import { playSetting, type Start } from './play-setting';
import { lineOf, systemNames, type Row, type SystemName } from './rows';
import { startSleepingServers } from './sleeping-servers';
import { withStack, type BenchStack } from './stack';
import { startBare } from './systems/bare';
import { startCoevolve } from './systems/coevolve';
import { startDbos } from './systems/dbos';
import { startRestate } from './systems/restate';

type Options = {
  attempts: number;
  places: number;
  attemptMs: number[];
  turns: number;
  sigma: number[];
  workers: number[];
  steps: number;
  systems: SystemName[];
  kill?: boolean;
  json?: boolean;
};

/** Has the packages of the other systems, which are none of the product's. */
const python = path.join(__dirname, '..', '..', '.venv-durable', 'bin', 'python');

async function bench(options: Options): Promise<void> {
  const { places, turns, workers, systems, json } = options;
  const servers = await startSleepingServers(turns);
  const load: Load = { servers, places, turns };
  const rows: Row[] = [];
  try {
    const counts = systems.includes('coevolve') ? workers : [0];
    for (const [n, count] of counts.entries())
      await withStack(load, count, async (stack) => {
        const played = systems.filter((name) => n === 0 || name === 'bare' || name === 'coevolve');
        for await (const row of playAll(options, load, { workers: count, systems: played }, starter(stack, load))) {
          rows.push(row);
          if (!json) process.stdout.write(lineOf(row));
        }
      });
  } finally {
    servers.close();
  }
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
}

/** Plays all lengths and spreads; only the first ones with a kill. */
async function* playAll(
  { attempts, attemptMs, sigma, steps, kill }: Options,
  load: Load,
  { workers, systems }: { workers: number; systems: readonly SystemName[] },
  start: Start,
): AsyncGenerator<Row> {
  const settings = attemptMs.flatMap((ms) => sigma.map((spread) => ({ attemptMs: ms, sigma: spread })));
  for (const [n, setting] of settings.entries())
    yield* playSetting(
      { attempts, workers, steps, isKilled: kill === true && n === 0, ...setting },
      load,
      systems,
      start,
    );
}

const starter =
  (stack: BenchStack, load: Load): Start =>
  (name) => {
    switch (name) {
      case 'bare':
        return startBare(load, python);
      case 'coevolve':
        return startCoevolve(stack);
      case 'dbos':
        return startDbos(load, python, stack);
      case 'restate':
        return startRestate(load, python, stack.bare.home);
    }
  };

const number = (text: string): number => {
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`found ${text}, expected a number from 0`);
  return value;
};
const numbers = (text: string): number[] => text.split(',').map(number);
const systemsIn = (text: string): SystemName[] => {
  const wanted = text.split(',');
  const unknown = wanted.find((name) => !systemNames.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`--systems: found ${unknown}, expected some of ${systemNames.join(', ')}`);
  return systemNames.filter((name) => wanted.includes(name));
};

const program = new Command('bench:service')
  .option('--attempts <count>', 'attempts of a rollout', number, 1280)
  .option('--places <count>', 'attempts at once, of all workers together', number, 128)
  .option('--attempt-ms <list>', 'mean lengths of an attempt', numbers, [1000])
  .option('--turns <count>', 'actions of an attempt', number, 1)
  .option('--sigma <list>', 'spreads of the lengths', numbers, [0, 0.5, 1, 1.5])
  .option('--workers <list>', 'counts of rollout workers', numbers, [1, 2, 4])
  .option('--steps <count>', 'also in this many steps, each after the end of the one before', number, 1)
  .option('--systems <list>', `of ${systemNames.join(', ')}`, systemsIn, [...systemNames])
  .option('--kill', 'plays the first lengths once more, and kills the process that plays')
  .option('--json', 'prints the rows');
void program
  .action(bench)
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`${inspect(error)}\n`);
    process.exitCode = 1;
  });
