import type { Arm, Contrast, Experiment } from '../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../domain/experiment/record';
import type { ExperimentReport } from '../../report/experiment';
import type { CampaignRow } from '../../store/campaign/campaigns';
import { readAsCell } from '../../store/experiment/campaign-as-cell';
import { differingKeys, type Comparison } from '../compare-campaigns';
import type { Connections } from '../connections';
import { analyzeRecord } from './analyze-table';
import {
  methodOf,
  requireEachOnce,
  requireEqualSeeds,
  requireEqualTests,
  requireOneMethod,
  type Side,
} from './pairable-sides';

export type SidesRequest = {
  /** Names of the campaigns of each side: at least two, one per campaign seed. */
  a: readonly string[];
  b: readonly string[];
  /** `success`, `reward` or `pass@<k>`. */
  metric: string;
  /** The smallest difference that matters, between 0 and 1. */
  margin: number;
};

/** Two campaigns with one campaign seed. */
export type SeedPair = { seed: number; a: string; b: string };

export type SidesComparison = {
  /** Its arms are `a` and `b`; seed k of it is pair k. */
  report: ExperimentReport;
  /** In ascending order of the campaign seeds. */
  pairs: readonly SeedPair[];
  /** Keys in which the specs of the sides differ. */
  differences: Comparison['differences'];
  /** Campaigns that are cells of experiments, which count their own looks and not this one. */
  cells: readonly string[];
};

type Sides = Record<Side, readonly CampaignRow[]>;

/**
 * Compares two methods by finished campaigns with several seeds: side b minus side a, paired by campaign seed, by the
 * statistics of experiments (docs/statistics.md). Nobody declared the comparison beforehand, so it is always exploratory.
 *
 * @throws UsageError  the sides cannot be paired, a side mixes specs, a campaign has not finished, or test sets differ
 * @throws DomainError `UnknownCampaign`; StackError if the Python packages are not installed
 */
export async function compareSides(
  { config, pool, store }: Pick<Connections, 'config' | 'pool' | 'store'>,
  request: SidesRequest,
): Promise<SidesComparison> {
  requireEachOnce(request.a, request.b);
  const rows = async (names: readonly string[]): Promise<CampaignRow[]> => {
    const found = await Promise.all(names.map((name) => store.campaigns.getByName(name)));
    return found.toSorted((one, other) => one.seed - other.seed);
  };
  const sides: Sides = { a: await rows(request.a), b: await rows(request.b) };
  for (const side of ['a', 'b'] as const) requireOneMethod(side, sides[side]);
  requireEqualSeeds(sides.a, sides.b);
  const read = (arm: Side) => Promise.all(sides[arm].map((row, n) => readAsCell(pool, row, { arm, seed: n + 1 })));
  const [ofA, ofB] = [await read('a'), await read('b')];
  requireEqualTests(ofA.map(({ cell }, n) => [cell, ofB[n]!.cell]));
  const played = [...ofA, ...ofB];
  const record = recordOf(request, sides, {
    cells: played.map(({ cell }) => cell),
    scores: played.flatMap(({ scores }) => scores),
  });
  const known = await Promise.all(played.map(({ cell }) => store.experimentCells.findByCampaign(cell.campaign)));
  return {
    report: await analyzeRecord(config, record, sides.a.length),
    pairs: sides.a.map(({ seed, name }, n) => ({ seed, a: name, b: sides.b[n]!.name })),
    differences: differingKeys([methodOf(sides.a[0]!), methodOf(sides.b[0]!)]),
    cells: known.flatMap((cell) => cell?.campaign ?? []),
  };
}

/** The comparison as an experiment with two arms and one look, which no file declared. */
function recordOf(
  { metric, margin }: SidesRequest,
  { a, b }: Sides,
  played: Pick<ExperimentRecord, 'cells' | 'scores'>,
): ExperimentRecord {
  const arm = (name: Side, row: CampaignRow): Arm => ({
    name,
    replicaOf: null,
    spec: methodOf(row),
    differences: [],
    matches: null,
  });
  const primary: Contrast = { name: 'b - a', plus: 'b', minus: 'a' };
  const experiment: Experiment = {
    name: 'comparison',
    seed: 0,
    question: '',
    arms: [arm('a', a[0]!), arm('b', b[0]!)],
    looks: [a.length],
    concurrency: 1,
    match: { equal: [], within: {}, report: [] },
    analysis: { metric, primary, alpha: 0.05, secondary: [], ordering: null, margin, breakdown: [] },
    stopping: { futility: null, usd: null, hours: null },
  };
  const frozen = { version: 1, hash: '', frozenAt: null, profile: null, manifest: {}, amendments: [] };
  return { experiment, ...frozen, ...played };
}
