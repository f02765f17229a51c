import type { Command } from 'commander';
import {
  followExperiment,
  listExperiments,
  readExperimentDetails,
  type ExperimentDetails,
  type ShownCell,
} from '../../client/experiments/experiment-status';
import { UsageError } from '../../errors/errors';
import { withConnections } from '../../client/connections';
import { effortMeasures } from '../../domain/experiment/experiment';
import { asCalled } from '../output/called-name';
import { duration, shortHash } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Options = { watch?: boolean; json?: boolean };

/** `coevolve experiment status [name]` */
export function addStatus(group: Command): void {
  group
    .command('status [name]')
    .description('show cells, completeness and effort, without scores; without a name, list all experiments')
    .option('--watch', 'follow the experiment cell by cell until it ends')
    .option('--json', 'print the state as JSON')
    .action((name: string | undefined, { watch, json }: Options) =>
      withConnections(async (connections) => {
        if (name === undefined) {
          if (watch) throw new UsageError('name: found nothing, expected the experiment to follow');
          const all = await listExperiments(connections);
          return printResult(json, all, () => listText(all));
        }
        const details = watch
          ? await followExperiment(connections, name, printProgress)
          : await readExperimentDetails(connections, name);
        printResult(json, details, () => statusText(details));
      }),
    );
}

const listText = (all: readonly ExperimentDetails[]): string =>
  terminalTable(all, [
    ...properties('name', 'status', 'seeds'),
    text('finished cells', ({ looks }) => `${looks.at(-1)!.finished} of ${looks.at(-1)!.cells}`),
    number('version', (row) => row.version),
    text('frozen', (row) => row.frozenAt.toISOString()),
  ]);

/** Prints a cell whose status has changed; with a finished one, how far the experiment is. */
export function printProgress(cell: ShownCell, { looks, secondsLeft }: ExperimentDetails): void {
  const { finished, cells } = looks.at(-1)!;
  const progress = `; ${finished} of ${cells} cells${leftText(secondsLeft)}`;
  printMessage(`${cellText(cell)}${cell.status === 'finished' ? progress : ''}`);
}

const leftText = (seconds: number | null): string => (seconds === null ? '' : `, some ${duration(seconds)} left`);

const cellText = ({ campaign, status, reason }: ShownCell): string =>
  `${campaign}: ${status}${reason === null ? '' : ` (${asCalled(reason)})`}`;

function statusText({ name, status, version, hash, frozenAt, seeds, ...details }: ExperimentDetails): string {
  const { cells, looks, effort, stopped, reason, problem, secondsLeft } = details;
  const attention = cells.filter((cell) => cell.reason !== null);
  const exploratory = cells.filter((cell) => cell.exploratory).map(({ campaign }) => campaign);
  const arms = [...new Set(cells.map(({ arm }) => arm))];
  const numbers = [...new Set(cells.map(({ seed }) => seed))];
  const statusOf = (arm: string, seed: number): string =>
    cells.find((cell) => cell.arm === arm && cell.seed === seed)!.status;
  return [
    `${name}: ${status}${reason === null ? '' : `, ${asCalled(reason)}`}`,
    `version ${version} (${shortHash(hash)}), frozen ${frozenAt.toISOString()}; ${seeds === null ? 'not started' : `plays ${seeds} seeds${leftText(secondsLeft)}`}`,
    ...(problem === null ? [] : [`needs attention: ${asCalled(problem)}`]),
    ...attention.map((cell) => `needs attention: ${cellText(cell)}`),
    ...(stopped.length === 0 ? [] : [`stopped arms: ${stopped.join(', ')}`]),
    ...(exploratory.length === 0 ? [] : [`exploratory: ${exploratory.join(', ')}`]),
    ...looks.map((look) => `look at ${look.seeds} seeds: ${look.finished} of ${look.cells} cells finished`),
    '',
    terminalTable(arms, [
      text('arm', (arm) => arm),
      ...numbers.map((seed) => text<string>(`seed ${seed}`, (arm) => statusOf(arm, seed))),
    ]),
    ...effortText(effort),
  ].join('\n');
}

/** Formats the mean effort of the finished cells of each arm, without measures that are 0 everywhere. */
function effortText(effort: ExperimentDetails['effort']): string[] {
  const played = effort.filter(({ cells }) => cells > 0);
  if (played.length === 0) return [];
  const measures = effortMeasures.filter((measure) => played.some((row) => row[measure]));
  const shown = terminalTable(played, [
    ...properties('arm', 'cells'),
    ...measures.map((measure) => number<(typeof played)[number]>(measure, (row) => row[measure] ?? 0)),
  ]);
  return ['', 'mean effort of a finished cell:', shown];
}
