import { compareText } from '../../domain/compare-text';
import { earlyCells, undeclaredLooks } from '../../domain/experiment/record';
import { seedsOfUnequalStarts } from '../../domain/experiment/starts';
import { counted, nothing, pEquals, signedPoints, significant } from '../../domain/formats';
import { groupBy } from '../../domain/group-by';
import type { ContrastResult } from '../../statistics/analysis-output';
import { total } from '../campaign/campaign-data';
import { hasPlaces, otherPlaces, seedsOf } from './blocks';
import { collapsedArms, hasDataMeasures, unlikeData, whyAlwaysEquivalent } from './evidence';
import { exclusionsOf, unequalArms } from './exclusions';
import type { ExperimentReport } from './report';

type Analysed = Pick<ExperimentReport, 'record' | 'analysis'>;

type Arms = Pick<ContrastResult, 'plus' | 'minus'>;

/** A finding against a rule, and whether it concerns a contrast. */
type Breach = { finding: string; concerns: (contrast: Arms) => boolean };

/**
 * A rule whose breach leaves the arms comparable, and the verdict in doubt: the verdict keeps its word and gets a mark, on
 * every page.
 */
type MarkRule = {
  name: string;
  /** Stands beside a verdict. */
  mark: string;
  held: string;
  breaches: (report: Analysed) => Breach[];
  /** Returns whether the record has the fields of the rule; it has by default. */
  isKnown?: (report: Analysed) => boolean;
};

export const markRules: readonly MarkRule[] = [
  {
    name: 'frozen before its cells',
    mark: 'exploratory',
    held: 'no cell began before the freeze',
    breaches: earlyBreaches,
  },
  {
    name: 'frozen before its looks',
    mark: 'amended after a look',
    held: 'no amendment followed a look at differences',
    breaches: lateAmendments,
    isKnown: ({ record }) => record.looks !== undefined || record.amendments.length === 0,
  },
  {
    name: 'looks as declared',
    mark: 'undeclared looks',
    held: 'no look at differences was taken that is not declared',
    breaches: undeclared,
    isKnown: ({ record }) => record.looks !== undefined,
  },
  {
    name: 'own root seed',
    mark: 'shared root seed',
    held: 'no other experiment of the database has this root seed',
    breaches: sharedSeed,
    isKnown: ({ record }) => record.sharedSeed !== undefined,
  },
  {
    name: 'replicas agree',
    mark: 'a replica differs',
    held: 'no replica differs from its arm',
    breaches: differingReplicas,
    isKnown: ({ record }) => record.experiment.arms.some(({ replicaOf }) => replicaOf !== null),
  },
  {
    name: 'matched pools',
    mark: 'match missed',
    held: 'every arm admitted as many tasks as the one that it matches',
    breaches: missedMatches,
    isKnown: ({ record }) => record.experiment.arms.some(({ matches }) => matches !== null),
  },
  {
    name: 'cells differ',
    mark: 'equal scores',
    held: 'no two cells score every task alike',
    breaches: alikeCells,
  },
  {
    name: 'room to differ',
    mark: 'could not differ',
    held: 'every equivalent contrast could have differed by the margin',
    breaches: ofContrasts(whyAlwaysEquivalent),
    isKnown: ({ analysis }) => analysis.contrasts.some(({ verdict }) => verdict === 'equivalent'),
  },
  {
    name: 'like data',
    mark: 'other data',
    held: 'the arms of every contrast train on as much data of each kind',
    breaches: ofContrasts(unlikeData),
    isKnown: hasDataMeasures,
  },
  {
    name: 'no collapse',
    mark: 'collapsed seed',
    held: 'no policy ends below half of its start',
    breaches: (report) => collapsedArms(report).map(({ arm, finding }) => ({ finding, concerns: hasArm(arm) })),
  },
  {
    name: 'equal exclusions',
    mark: 'unequal exclusions',
    held: 'the arms of every contrast leave out the same share of their attempts',
    breaches: ofContrasts(({ record, analysis }, contrast) => unequalArms(record, analysis.look, contrast)),
    isKnown: ({ record, analysis }) =>
      record.experiment.arms.some(({ name }) => exclusionsOf(record, analysis.look, name) !== null),
  },
  {
    name: 'equal starts',
    mark: 'unequal starts',
    held: 'what the arms of a seed share before iteration 1 is equal',
    breaches: unequalStarts,
  },
  {
    name: 'one place per seed',
    mark: 'unequal places',
    held: 'the arms of every contrast were played on processors and by code that are the same within a seed',
    breaches: ofContrasts(otherPlaces),
    isKnown: hasPlaces,
  },
];

/** Returns the marks of a contrast, which put its verdict in doubt. An invalid one has its reasons instead. */
export function marksOf(report: Analysed, contrast: ContrastResult): { mark: string; findings: string[] }[] {
  if (contrast.verdict === 'invalid') return [];
  return markRules.flatMap(({ mark, breaches }) => {
    const found = breaches(report).filter(({ concerns }) => concerns(contrast));
    return found.length === 0 ? [] : [{ mark, findings: found.map(({ finding }) => finding) }];
  });
}

/** Returns the marks of a contrast without their findings, for tables. */
export const markNames = (report: Analysed, contrast: ContrastResult): string =>
  marksOf(report, contrast)
    .map(({ mark }) => mark)
    .join(', ') || nothing;

/** Returns the breaches of a rule that looks at each contrast alone. */
function ofContrasts(find: (report: Analysed, contrast: ContrastResult) => string | null) {
  return (report: Analysed): Breach[] =>
    report.analysis.contrasts.flatMap((contrast) => {
      const finding = find(report, contrast);
      const concerns = ({ plus, minus }: Arms): boolean => plus === contrast.plus && minus === contrast.minus;
      return finding === null ? [] : [{ finding, concerns }];
    });
}

const every = (): boolean => true;
const hasArm =
  (arm: string) =>
  ({ plus, minus }: Arms): boolean =>
    plus === arm || minus === arm;

function earlyBreaches({ record, analysis }: Analysed): Breach[] {
  if (record.frozenAt === null)
    return [{ finding: 'it was not declared beforehand: a file was never frozen', concerns: every }];
  const groups = groupBy(earlyCells(record, analysis.look), ({ cell, reason }) => `${cell.arm} ${reason}`);
  return [...groups.values()].map((found) => {
    const { arm } = found[0]!.cell;
    return { finding: `${counted(found.length, 'cell')} of ${arm} ${found[0]!.reason}`, concerns: hasArm(arm) };
  });
}

function lateAmendments({ record }: Analysed): Breach[] {
  const { amendments, looks = [] } = record;
  return amendments.flatMap(({ version, frozenAt }) => {
    const seen = looks.findLast((look) => look.shown && compareText(look.at, frozenAt) < 0);
    const finding = `version ${version} was frozen after a look at ${seen?.look} seeds`;
    return seen === undefined ? [] : [{ finding, concerns: every }];
  });
}

function undeclared({ record, analysis }: Analysed): Breach[] {
  const looks = undeclaredLooks(record);
  const finding = `looks at ${looks.join(' and ')} seeds were taken too; every test has the level ${significant(analysis.level)}`;
  return looks.length === 0 ? [] : [{ finding, concerns: every }];
}

function sharedSeed({ record }: Analysed): Breach[] {
  const { sharedSeed: others = [], experiment } = record;
  const finding = `${others.join(', ')} has the root seed ${experiment.seed} too: tasks and starts may be the same`;
  return others.length === 0 ? [] : [{ finding, concerns: every }];
}

function differingReplicas({ analysis }: Analysed): Breach[] {
  return analysis.replicas
    .filter(({ differs }) => differs)
    .map(({ arm, of, difference, p }) => ({
      finding: `${arm} repeats ${of} and differs by ${signedPoints(difference)} points (${pEquals(p)})`,
      concerns: every,
    }));
}

function missedMatches({ record, analysis }: Analysed): Breach[] {
  return record.experiment.arms.flatMap(({ name, matches }) => {
    const missed = seedsOf(analysis.look).flatMap((seed) => {
      const [own, wanted] = [admittedBy(record, name, seed), admittedBy(record, matches, seed)];
      return own === null || wanted === null || own === wanted ? [] : [`${own} of ${wanted} at seed ${seed}`];
    });
    const finding = `${name} admitted fewer or more tasks than ${matches}: ${missed.join(', ')}`;
    return missed.length === 0 ? [] : [{ finding, concerns: hasArm(name) }];
  });
}

/** Returns the number of tasks that a cell admitted, or null where its manifest has none. */
function admittedBy({ cells }: ExperimentReport['record'], arm: string | null, seed: number): number | null {
  const admitted = cells.find((cell) => cell.arm === arm && cell.seed === seed)?.manifest?.admitted;
  return admitted === undefined ? null : total(admitted, ({ tasks }) => tasks);
}

function alikeCells({ analysis }: Analysed): Breach[] {
  const groups = groupBy(analysis.alike, ({ arm, otherArm }) => `${arm} ${otherArm}`);
  return [...groups.values()].map((found) => {
    const { arm, otherArm, tasks } = found[0]!;
    const seeds = found.map(({ seed, otherSeed }) => (seed === otherSeed ? `${seed}` : `${seed} and ${otherSeed}`));
    const where = `seed${found.length > 1 ? 's' : ''} ${seeds.join(', ')}`;
    if (arm === otherArm)
      return { finding: `${where} of ${arm} score all ${tasks} tasks alike`, concerns: hasArm(arm) };
    return {
      finding: `${arm} and ${otherArm} score all ${tasks} tasks alike at ${where}`,
      concerns: (contrast: Arms) => hasArm(arm)(contrast) && hasArm(otherArm)(contrast),
    };
  });
}

function unequalStarts({ record, analysis }: Analysed): Breach[] {
  const seeds = seedsOfUnequalStarts(record.cells.filter(({ seed }) => seed <= analysis.look));
  const finding =
    `the start of seed ${seeds.join(', ')} was trained on processors of different kinds, which round differently: ` +
    `its differences have more noise`;
  return seeds.length === 0 ? [] : [{ finding, concerns: every }];
}
