import { count, counted, percent } from '../../domain/formats';
import { rules } from '../../statistics/analysis-output';
import { table, text } from '../../tables/table';
import { markRules } from './marks';
import { completeness, type ExperimentReport } from './report';

/** `effect`: of a breach on the contrasts that it concerns. */
export type ValidityCheck = { name: string; holds: boolean; effect: 'invalid' | 'marked'; finding: string };

/**
 * Returns the rules of a fair comparison and whether each holds, with the first breaches. A broken rule of the statistics
 * makes contrasts invalid, and no contrast is invalid without one; one of the others marks their verdicts.
 */
export function validityChecks(report: ExperimentReport): ValidityCheck[] {
  const deciding = rules.map((name): ValidityCheck => {
    const findings = [...new Set(brokenBy(report, name))];
    const holds = findings.length === 0;
    return { name, holds, effect: 'invalid', finding: holds ? held[name](report) : listed(findings) };
  });
  const marking = markRules
    .filter(({ isKnown = () => true }) => isKnown(report))
    .map(({ name, breaches, held: finding }): ValidityCheck => {
      const findings = breaches(report).map((breach) => breach.finding);
      const holds = findings.length === 0;
      return { name, holds, effect: 'marked', finding: holds ? finding : listed(findings) };
    });
  return [...deciding, ...marking];
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

type Rule = (typeof rules)[number];

/** A rule of effort is named with its contrast, since the sentence of the statistics has none. */
function brokenBy({ analysis }: ExperimentReport, name: Rule): string[] {
  if (name !== 'matched') return analysis.broken.filter(({ rule }) => rule === name).map(({ finding }) => finding);
  return analysis.effort
    .filter(({ holds }) => !holds)
    .map(
      ({ contrast, measure, rule, allowed, found }) =>
        `${contrast}: ${measure} differs by ${percent(found, 2)}, allowed ${percent(allowed, 2)} (${rule})`,
    );
}

/** The finding where a rule holds. */
const held: Record<Rule, (report: ExperimentReport) => string> = {
  matched({ record }) {
    const names = [...record.experiment.match.equal, ...Object.keys(record.experiment.match.within)];
    return names.length === 0 ? 'the experiment declares no rule of effort' : `every rule holds: ${names.join(', ')}`;
  },
  complete: (report) => `all ${counted(completeness(report).expected, 'cell')} have finished and have scores`,
  'test set unseen': () => 'no test task was trained on',
  'equal tests': () => 'the arms of a seed were scored on the same tasks',
  'whole tests': () => 'every cell was scored on its whole test set',
  'distinct cells': () => 'no two cells have one content hash',
  'declared look': ({ record, analysis }) =>
    `analysed at ${counted(analysis.look, 'seed')}; declared: ${record.experiment.looks.join(' and ')}`,
};
