import { UsageError } from '../../errors/errors';
import type { Config } from '../../config';
import type { CombinedExperiment, CombinedExperiments } from '../../statistics/combine';
import { completenessOf, type ExperimentRecord } from '../../domain/experiment/record';
import { type ExperimentReport, validityChecks } from '../../report/experiment';
import { combineEnvironments } from '../../statistics/combine';
import { analyzeRecord, defaultLook } from './analyze-table';
import { readTable } from './read-table';
import { cellLabel } from '../../domain/experiment/experiment';

/** Fewer environments are better shown one by one, and give the bootstrap too few runs. */
const leastEnvironments = 3;

/**
 * Shows the arms that exported tables of several experiments share: one experiment per environment, with equal metrics and
 * numbers of seeds. It describes and tests nothing; the experiments keep their verdicts.
 *
 * @param at a look that all experiments declare, or null for the largest complete one of each
 * @throws UsageError with the table, the value found and the value expected
 */
export async function combineTables(
  config: Pick<Config, 'python'>,
  files: readonly string[],
  at: number | null,
): Promise<CombinedExperiments> {
  if (files.length < leastEnvironments)
    throw new UsageError(`tables: found ${files.length}, expected at least ${leastEnvironments}, one per environment`);
  const tables: Table[] = [];
  for (const file of files) {
    const table = await readOne(file, at);
    requireLike(table, tables);
    tables.push(table);
  }
  const names = sharedArms(tables);
  const reports: ExperimentReport[] = [];
  for (const { record, seeds } of tables) reports.push(await analyzeRecord(config, record, seeds));
  const arms = await combineEnvironments(config, {
    environments: tables.map(({ environment }) => environment),
    seeds: tables[0]!.seeds,
    arms: names.map((arm) => ({ arm, values: reports.map((report) => valuesOf(report, arm)) })),
  });
  return { experiments: tables.map((table, i) => combinedExperiment(table, reports[i]!, names)), arms };
}

type Table = Pick<CombinedExperiment, 'environment' | 'metric' | 'seeds'> & { file: string; record: ExperimentRecord };

/** Reads a table whose cells have all been played. */
async function readOne(file: string, at: number | null): Promise<Table> {
  const record = await readTable(file);
  const { arms, looks, analysis } = record.experiment;
  const environments = new Set(arms.map(({ spec }) => environmentOf(spec)));
  if (environments.size > 1)
    throw new UsageError(`${file}: environments of the arms: found ${[...environments].join(', ')}, expected one`);
  const look = at ?? defaultLook(record);
  if (!looks.includes(look))
    throw new UsageError(`--at: found ${look}, expected a declared look of ${file}: ${looks.join(' or ')}`);
  const { missing } = completenessOf(record, look);
  if (missing.length > 0) {
    const cells = missing.map(cellLabel).join(', ');
    throw new UsageError(`${file}: cells of look ${look}: ${cells} missing, expected all of them`);
  }
  return { file, record, environment: [...environments][0]!, metric: analysis.metric, seeds: look };
}

export const environmentOf = (spec: Record<string, unknown>): string =>
  String((spec['environment'] as { name?: unknown } | undefined)?.name);

/** Refuses a table that cannot be combined with those before it. */
function requireLike(table: Table, before: readonly Table[]): void {
  const { file, environment } = table;
  const twin = before.find((other) => other.environment === environment);
  if (twin)
    throw new UsageError(`${file}: environment: found ${environment}, which ${twin.file} has, expected another one`);
  const [first] = before;
  for (const key of ['metric', 'seeds'] as const) {
    if (!first || first[key] === table[key]) continue;
    const remedy = key === 'seeds' ? '; `--at` chooses a look that all of them declare' : '';
    throw new UsageError(`${file}: ${key}: found ${table[key]}, expected ${first[key]}, as ${first.file} has${remedy}`);
  }
}

const armNames = ({ record }: Table): string[] => record.experiment.arms.map(({ name }) => name);

function sharedArms(tables: readonly Table[]): string[] {
  const [first, ...others] = tables as [Table, ...Table[]];
  const shared = armNames(first).filter((name) => others.every((table) => armNames(table).includes(name)));
  if (shared.length > 0) return shared;
  const found = tables.map((table) => `${table.record.experiment.name} has ${armNames(table).join(', ')}`).join('; ');
  throw new UsageError(`arms: found none that all tables have, expected at least one; ${found}`);
}

/** One value of the metric per seed, in the order of the seeds. */
const valuesOf = ({ analysis }: ExperimentReport, arm: string): number[] =>
  analysis.arms.find((own) => own.arm === arm)!.values.map(({ value }) => value);

function combinedExperiment(table: Table, report: ExperimentReport, shown: readonly string[]): CombinedExperiment {
  const { environment, metric, seeds, record } = table;
  return {
    name: record.experiment.name,
    environment,
    metric,
    seeds,
    tasks: Math.min(...report.analysis.arms.map(({ tasks }) => tasks)),
    hash: record.hash,
    inputHash: report.inputHash,
    brokenRules: validityChecks(report).flatMap(({ name, holds }) => (holds ? [] : [name])),
    otherArms: armNames(table).filter((name) => !shown.includes(name)),
  };
}
