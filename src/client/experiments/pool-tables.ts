import type { Config } from '../../config';
import { cellLabel, type Contrast, type Experiment } from '../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../domain/experiment/record';
import { UsageError } from '../../errors/errors';
import { marksOf } from '../../report/experiment';
import { contrastOf } from '../../specification/experiment/check-analysis';
import { type PooledContrast, type PooledExperiments, poolStudies } from '../../statistics/pool';
import { analyzeRecord, defaultLook } from './analyze-table';
import { environmentOf } from './combine-tables';
import { readTable } from './read-table';

/** A table, with the contrast that is read from it. */
type Asked = { file: string; contrast: Contrast };
type Table = Asked & { record: ExperimentRecord };

/**
 * Pools one contrast over exported tables, by random effects: `a.jsonl`, or `a.jsonl=<arm> - <arm>` where the arms have other
 * names. A contrast that its file does not declare is analysed as the primary one, and marked. An invalid contrast, and one
 * whose seeds do not deviate, is listed and left out. The experiments keep their verdicts.
 *
 * @param contrast of the tables that name none
 * @throws UsageError with the table, the value found and the value expected; also for two tables with a common root seed or
 *                    common cells, which are no independent evidence
 */
export async function poolTables(
  config: Pick<Config, 'python'>,
  texts: readonly string[],
  contrast: string | null,
): Promise<PooledExperiments> {
  const tables: Table[] = [];
  for (const asked of texts.map((text) => askedFor(text, contrast))) {
    const table = { ...asked, record: await readTable(asked.file) };
    requireArms(table);
    for (const other of tables) requireIndependent(table, other);
    tables.push(table);
  }
  const found: Found[] = [];
  for (const table of tables) found.push(await contrastIn(config, table));
  return pooledOf(config, tables, found);
}

type Found = { row: PooledContrast; reason: string | null };

async function pooledOf(
  config: Pick<Config, 'python'>,
  tables: readonly Table[],
  found: readonly Found[],
): Promise<PooledExperiments> {
  const rows = found.flatMap(({ row, reason }) => (reason === null ? [row] : []));
  const leftOut = found.flatMap(({ row, reason }) => (reason === null ? [] : [{ ...row, reason }]));
  if (rows.length < 2) {
    const reasons = leftOut.map(({ experiment, reason }) => `; ${experiment}: ${reason}`).join('');
    throw new UsageError(
      `tables: found ${rows.length} with a usable difference, expected at least 2${reasons}; ` +
        '`coevolve experiment analyze --table <file>` shows the rules of a table',
    );
  }
  const studies = rows.map(({ difference, sd, seeds }) => ({ difference: difference!, sd: sd!, seeds }));
  const output = await poolStudies(config, { studies });
  return {
    metric: tables[0]!.record.experiment.analysis.metric,
    studies: rows.map((row, i) => ({ ...row, ...output.studies[i]!, without: output.without[i]! })),
    leftOut,
    pooled: output.pooled,
  };
}

/** Reads `<table>` or `<table>=<contrast>`. */
function askedFor(text: string, common: string | null): Asked {
  const [, file = text, own] = /^(.*\.jsonl(?:\.(?:gz|br))?)=(.*)$/.exec(text) ?? [];
  const named = own ?? common;
  const contrast = named === null ? undefined : contrastOf(named);
  if (contrast !== undefined && contrast.plus !== contrast.minus) return { file, contrast };
  const expected =
    'expected two arms as in "signals - random"; give `--contrast`, or `<table>=<contrast>` for one table';
  throw new UsageError(`${file}: contrast: found ${named === null ? 'nothing' : `"${named}"`}, ${expected}`);
}

function requireArms({ file, contrast, record }: Table): void {
  const names = record.experiment.arms.map(({ name }) => name);
  for (const arm of [contrast.plus, contrast.minus])
    if (!names.includes(arm))
      throw new UsageError(
        `${file}: contrast: found the arm ${arm}, expected one of ${names.join(', ')}; ` +
          '`<table>=<contrast>` names the arms of one table',
      );
}

/** Refuses a table with another metric, or with a root seed or a cell of an earlier one. */
function requireIndependent({ file, record }: Table, { file: otherFile, record: other }: Table): void {
  const [{ analysis, seed }, before] = [record.experiment, other.experiment];
  if (analysis.metric !== before.analysis.metric)
    throw new UsageError(
      `${file}: metric: found ${analysis.metric}, expected ${before.analysis.metric}, as ${otherFile} has`,
    );
  const advice = 'the two are no independent evidence; leave one of them out';
  if (seed === before.seed)
    throw new UsageError(
      `${file}: root seed: found ${seed}, which ${otherFile} has too, expected another one: ${advice}`,
    );
  const hashes = new Set(other.cells.map(({ contentHash }) => contentHash));
  const twin = record.cells.find(({ contentHash }) => contentHash !== null && hashes.has(contentHash));
  if (twin)
    throw new UsageError(
      `${file}: cell ${cellLabel(twin)}: found in ${otherFile} too, expected other cells: ${advice}`,
    );
}

/** Analyses a table at its largest complete look, and returns the contrast with the reason to leave it out, if any. */
async function contrastIn(config: Pick<Config, 'python'>, { contrast, record }: Table): Promise<Found> {
  const { experiment } = record;
  const { analysis, isDeclared } = analysisWith(experiment.analysis, contrast);
  const analysed = { ...record, experiment: { ...experiment, analysis } };
  const report = await analyzeRecord(config, analysed, defaultLook(record));
  const result = report.analysis.contrasts.find((own) => own.contrast === contrast.name)!;
  const row = {
    experiment: experiment.name,
    hash: record.hash,
    environment: environmentOf(experiment.arms[0]!.spec),
    contrast: contrast.name,
    verdict: result.verdict,
    marks: [...marksOf(report, result).map(({ mark }) => mark), ...(isDeclared ? [] : ['undeclared contrast'])],
    seeds: result.seeds,
    difference: result.difference,
    sd: result.sd,
  };
  if (result.verdict === 'invalid') return { row, reason: `invalid: ${result.reasons[0]}` };
  return { row, reason: result.sd ? null : 'its differences do not deviate between seeds, so that it has no error' };
}

type Arms = Omit<Contrast, 'name'>;
const isSame = (own: Arms, asked: Arms): boolean =>
  own.plus === asked.plus && own.minus === asked.minus && own.metric === undefined;

/** A contrast that the file declares the other way round keeps its place; one that it does not declare is the primary one. */
function analysisWith(own: Experiment['analysis'], asked: Contrast) {
  const turned = ({ plus, minus, ...rest }: Contrast): Contrast =>
    isSame({ plus: minus, minus: plus }, asked) ? asked : { plus, minus, ...rest };
  const analysis = { ...own, primary: turned(own.primary), secondary: own.secondary.map(turned) };
  if ([analysis.primary, ...analysis.secondary].some((each) => isSame(each, asked)))
    return { analysis, isDeclared: true };
  return { analysis: { ...own, primary: asked, secondary: [] }, isDeclared: false };
}
