import { InvalidArgumentError } from 'commander';
import { compareSides, type SidesComparison } from '../../client/experiments/compare-sides';
import { withConnections } from '../../client/connections';
import { effortMeasures } from '../../domain/experiment/experiment';
import { points, signedPoints } from '../../domain/formats';
import { UsageError } from '../../errors/errors';
import {
  amount,
  armEfforts,
  armsTable,
  contrastsTable,
  marksOf,
  measureNames,
  verdictSentence,
} from '../../report/experiment';
import { passedOf } from '../../specification/experiment/check-analysis';
import { number, text } from '../../tables/table';
import { terminalTable, writeTerminal } from '../../tables/terminal-table';
import { printMessage, printResult } from '../output/output';
import { differencesTable } from './differences-table';

/** Options of `coevolve compare` for two sides of several campaigns. */
export type SideOptions = { a?: string[]; b?: string[]; margin?: number; metric?: string };

/** The margin of the experiments among the examples. */
const defaultMargin = 0.05;

export function marginOf(input: string): number {
  const margin = Number(input);
  if (margin > 0 && margin < 1) return margin;
  throw new InvalidArgumentError(`found "${input}", expected a share above 0 and below 1, such as 0.05.`);
}

export function metricOf(input: string): string {
  if (input === 'success' || input === 'reward' || passedOf(input) !== null) return input;
  throw new InvalidArgumentError(`found "${input}", expected success, reward or pass@<k>.`);
}

/**
 * Refuses what compares single campaigns beside --a and --b.
 *
 * @param others values of the other arguments, by their names
 */
export function requireAlone(others: Record<string, unknown>): void {
  const [name, value] = Object.entries(others).find(([, each]) => each !== undefined) ?? [];
  if (name !== undefined)
    throw new UsageError(
      `${name}: found ${JSON.stringify(value)} beside --a, --b, --margin or --metric, expected those alone; see \`coevolve compare --help\``,
    );
}

/** Compares side b with side a by the statistics of experiments, and prints the verdict. */
export function printSides({ a, b, margin, metric }: SideOptions, json: boolean | undefined): Promise<void> {
  if (!a || !b)
    throw new UsageError(
      `--${a ? 'b' : 'a'}: found nothing, expected the campaigns of the ${a ? 'second' : 'first'} method: ` +
        '`coevolve compare --a x-1,x-2,x-3 --b y-1,y-2,y-3`',
    );
  return withConnections(async (connections) => {
    const request = { a, b, margin: margin ?? defaultMargin, metric: metric ?? 'success' };
    const compared = await compareSides(connections, request);
    if (compared.cells.length > 0)
      printMessage(
        `warning: ${compared.cells.join(', ')} are cells of experiments, which count their looks and not this one; \`coevolve experiment analyze\` tests what they declare`,
      );
    printResult(json, { ...request, ...sidesJson(compared) }, () => sidesText(compared));
  });
}

/** Ends every comparison of sides: it has no file that was frozen before the scores were known. */
const notDeclared =
  'This comparison is exploratory: nobody declared its campaigns, metric, margin or rules of effort before the scores were known. ' +
  'Unequal effort does not make it invalid; `coevolve experiment` declares all of it beforehand.';

function sidesJson({ report, pairs, differences, cells }: SidesComparison): Record<string, unknown> {
  const { record, analysis } = report;
  const contrast = analysis.contrasts[0]!;
  return {
    pairs,
    exploratory: true,
    meaning: notDeclared,
    verdict: verdictSentence(record, analysis, contrast),
    contrast: { ...contrast, marks: marksOf(report, contrast) },
    arms: analysis.arms,
    wonAndLost: analysis.wonAndLost,
    effort: Object.fromEntries(armEfforts(record, analysis.look)),
    differences,
    cells,
  };
}

function sidesText(compared: SidesComparison): string {
  const { report, differences } = compared;
  const { record, analysis } = report;
  return [
    analysis.contrasts.map((contrast) => verdictSentence(record, analysis, contrast)).join('\n'),
    notDeclared,
    pairsText(compared),
    effortText(compared),
    ...(analysis.arms.length === 0 ? [] : [writeTerminal(armsTable(report, ['min', 'max', 'IQM']))]),
    writeTerminal(contrastsTable(report, 'reports')),
    'different keys of the specs',
    differencesTable(differences, ['a', 'b']),
  ].join('\n\n');
}

/** Marks name a seed by the number of its pair. */
function pairsText({ report: { analysis }, pairs }: SidesComparison): string {
  const valueOf = (arm: string, seed: number): number | null =>
    analysis.arms.find((each) => each.arm === arm)?.values.find((each) => each.seed === seed)?.value ?? null;
  const [contrast] = analysis.contrasts;
  const rows = pairs.map((pair, n) => ({ ...pair, number: n + 1 }));
  return terminalTable(rows, [
    text('pair', (row) => row.number),
    text('campaign seed', (row) => row.seed),
    text('a', (row) => row.a),
    number('points', (row) => valueOf('a', row.number), points),
    text('b', (row) => row.b),
    number('points', (row) => valueOf('b', row.number), points),
    number('b - a', (row) => contrast?.differences.find(({ seed }) => seed === row.number)?.value, signedPoints),
  ]);
}

/** Mean nominal effort of a campaign of each side. */
function effortText({ report: { record, analysis } }: SidesComparison): string {
  const efforts = armEfforts(record, analysis.look);
  const amountOf = (side: string, measure: (typeof effortMeasures)[number]): number =>
    efforts.get(side)?.[measure]?.nominal ?? 0;
  const rows = effortMeasures.filter((measure) => amountOf('a', measure) > 0 || amountOf('b', measure) > 0);
  return terminalTable(rows, [
    text('mean effort of a campaign', (measure) => measureNames[measure]),
    ...['a', 'b'].map((side) => number<(typeof rows)[number]>(side, (m) => amount(m, amountOf(side, m)))),
  ]);
}
