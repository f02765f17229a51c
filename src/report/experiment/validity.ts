import { seedsOfUnequalStarts } from '../../domain/experiment/starts';
import { count, counted, percent } from '../../domain/formats';
import { table, text } from '../../tables/table';
import { exclusionsOf, unequalArms } from './exclusions';
import { completeness, type ExperimentReport, isExploratory } from './report';
import { cellLabel } from '../../domain/experiment/experiment';

export type ValidityCheck = { name: string; holds: boolean; finding: string };

/** Returns the rules of a fair comparison and whether each holds, with the first breaches. */
export function validityChecks(report: ExperimentReport): ValidityCheck[] {
  return [
    matched(report),
    complete(report),
    unleaked(report),
    ...equalExclusions(report),
    equalStarts(report),
    frozen(report),
    looks(report),
  ];
}

/** The rules as a table. */
export const validityTable = (report: ExperimentReport) =>
  table('Validity', validityChecks(report), [
    text('rule', (check) => check.name),
    text('holds', (check) => (check.holds ? 'yes' : 'no')),
    text('finding', (check) => check.finding),
  ]);

/** Longer lists of breaches end with the number of the others. */
const maxShown = 3;

const listed = (findings: readonly string[]): string =>
  [
    ...findings.slice(0, maxShown),
    ...(findings.length > maxShown ? [`and ${count(findings.length - maxShown)} more`] : []),
  ].join('; ');

function matched({ analysis, record }: ExperimentReport): ValidityCheck {
  const broken = analysis.effort.filter(({ holds }) => !holds);
  const rules = [...record.experiment.match.equal, ...Object.keys(record.experiment.match.within)];
  const findings = broken.map(
    ({ contrast, measure, rule, allowed, found }) =>
      `${contrast}: ${measure} differs by ${percent(found, 2)}, allowed ${percent(allowed, 2)} (${rule})`,
  );
  const held =
    rules.length === 0 ? 'the experiment declares no rule of effort' : `every rule holds: ${rules.join(', ')}`;
  return { name: 'matched', holds: broken.length === 0, finding: broken.length > 0 ? listed(findings) : held };
}

function complete(report: ExperimentReport): ValidityCheck {
  const { expected, finished, missing } = completeness(report);
  const findings = missing.map((cell) => `${cellLabel(cell)} is missing (${cell.reason})`);
  const all = `all ${counted(expected, 'cell')} have finished`;
  return { name: 'complete', holds: finished === expected, finding: missing.length > 0 ? listed(findings) : all };
}

function unleaked({ record, analysis }: ExperimentReport): ValidityCheck {
  const leaks = record.cells.filter(({ seed, leakedTasks }) => seed <= analysis.look && leakedTasks > 0);
  const findings = leaks.map((cell) => `${cellLabel(cell)}: ${counted(cell.leakedTasks, 'task')}`);
  return {
    name: 'test set unseen',
    holds: leaks.length === 0,
    finding: leaks.length > 0 ? `test tasks are also train tasks: ${listed(findings)}` : 'no test task was trained on',
  };
}

/** An attempt without a score leaves numerator and denominator: unequal numbers of them may be a choice of the arm. */
function equalExclusions({ record, analysis }: ExperimentReport): ValidityCheck[] {
  const { look, contrasts } = analysis;
  if (record.experiment.arms.every(({ name }) => exclusionsOf(record, look, name) === null)) return [];
  const findings = contrasts.flatMap((contrast) => unequalArms(record, look, contrast) ?? []);
  const held = 'the arms of every contrast leave out the same share of their attempts';
  return [
    { name: 'equal exclusions', holds: findings.length === 0, finding: findings.length > 0 ? listed(findings) : held },
  ];
}

function equalStarts({ record, analysis }: ExperimentReport): ValidityCheck {
  const seeds = seedsOfUnequalStarts(record.cells.filter(({ seed }) => seed <= analysis.look));
  const found =
    `the start of seed ${seeds.join(', ')} was trained on processors of different kinds, which round differently: ` +
    `its differences have more noise`;
  return {
    name: 'equal starts',
    holds: seeds.length === 0,
    finding: seeds.length > 0 ? found : 'what the arms of a seed share before iteration 1 is equal',
  };
}

function frozen(report: ExperimentReport): ValidityCheck {
  const { record, analysis } = report;
  const early = record.cells.filter(({ seed, exploratory }) => seed <= analysis.look && exploratory);
  const holds = record.frozenAt !== null && early.length === 0;
  if (record.frozenAt === null) return { name: 'frozen', holds, finding: 'the file was never frozen' };
  const amended = record.amendments.length === 0 ? 'without amendment' : counted(record.amendments.length, 'amendment');
  const since = `version ${record.version} since ${record.frozenAt}, ${amended}`;
  const finding = `${counted(early.length, 'cell')} began before the freeze or with an arm added later`;
  return { name: 'frozen', holds, finding: early.length > 0 ? finding : since };
}

function looks(report: ExperimentReport): ValidityCheck {
  const { record, analysis } = report;
  const declared = record.experiment.looks.join(' and ');
  const taken = report.looks.filter(({ exploratory }) => !exploratory).map(({ look }) => look);
  const undeclared = report.looks.filter(({ exploratory }) => exploratory).length;
  return {
    name: 'declared look',
    holds: record.experiment.looks.includes(analysis.look),
    finding:
      `analysed at ${counted(analysis.look, 'seed')}; declared: ${declared}; ` +
      `taken: ${[...new Set(taken)].join(' and ') || 'none recorded'}` +
      (undeclared > 0 ? `, and ${counted(undeclared, 'exploratory look')}` : '') +
      (isExploratory(report) ? '; this analysis is exploratory' : ''),
  };
}
