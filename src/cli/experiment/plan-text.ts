import type { ExperimentPlan } from '../../client/experiments/plan-experiment';
import type { Arm } from '../../domain/experiment/experiment';
import { count, counted, dollars, percent, points as inPoints } from '../../domain/formats';
import { timeText } from '../campaign/estimate-text';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats a plan: its size first, then the arms, their effort and the rules that the estimate breaks. */
export function planText(plan: ExperimentPlan): string {
  const { experiment, cells, testTasks, arms, unmatched, hours, range, speeds, usd } = plan;
  const { name, looks, analysis } = experiment;
  const time = timeText({
    seconds: hours && hours * 3600,
    range: range && { low: range.low * 3600, high: range.high * 3600 },
  });
  const rules = unmatched.map(
    ({ contrast, measure, found, allowed }) =>
      `  ${contrast}: ${measure} ${found === null ? 'unknown: the pool of one arm grows (set training.target.updates)' : percent(found, 0)}, allowed ${percent(allowed, 0)}`,
  );
  return [
    `${name}: ${arms.length} arms x ${counted(looks.at(-1)!, 'seed')} = ${counted(cells, 'cell')}, ${time}, ${usd === null ? 'cost unknown' : dollars(usd, 2)}`,
    `primary: ${analysis.primary.name}, ${analysis.metric} on ${testTasks} tasks, looks at ${looks.join(' and ')} seeds, equivalence within ${analysis.margin}`,
    ...detectableTexts(plan),
    `assumed: ${speeds.join('; ')}`,
    '',
    ...experiment.arms.map(armText),
    '',
    terminalTable(arms, [
      text('estimate of a cell', ({ arm }) => arm),
      ...columns.map((key) => number<(typeof arms)[number]>(key, ({ effort }) => effort[key], count)),
    ]),
    '',
    rules.length === 0 ? 'matched: the estimates keep all rules of effort' : 'not matched by the estimate:',
    ...rules,
  ].join('\n');
}

/** Percentage points of the primary contrast. The range comes from deviations that are smaller or larger than the likely one. */
function detectableTexts({ power, experiment }: ExperimentPlan): string[] {
  if (power === null) return ['detectable: unknown; the prior is of success on test tasks, with 2 seeds or more'];
  const { measured, detectable } = power;
  const [likely, ...others] = detectable;
  const texts = likely!.differences.map(({ seeds, difference }, look) => {
    const range = others.map(({ differences }) => points(differences[look]!.difference)).join(' to ');
    return `${difference === null ? 'nothing' : `${points(difference)} points`} with ${seeds} seeds (${range})`;
  });
  const [sd, ...range] = detectable.map(({ deviation }) => points(deviation));
  const source = measured ? `, as ${measured.contrast} of ${measured.experiment} over ${measured.seeds} seeds` : '';
  const equal = likely!.equivalence.map(({ seeds, power: share }, look) => {
    const bounds = others.map(({ equivalence }) => percent(equivalence[look]!.power, 0)).join(' to ');
    return `${percent(share, 0)} with ${seeds} seeds (${bounds})`;
  });
  return [
    `detectable (80 % power): ${texts.join(', ')}, if ${measured ? 'differences' : 'runs'} deviate by ${sd} points (${range.join(' to ')})${source}`,
    `equivalence within ${inPoints(experiment.analysis.margin)} points is shown, if nothing differs: ${equal.join(', ')}`,
  ];
}

const points = (difference: number | null): string => (difference === null ? 'none' : inPoints(difference));

const columns = ['environmentAttempts', 'updates', 'trainedTokens', 'rolloutTokens', 'wallSeconds'] as const;

function armText({ name, differences, replicaOf }: Arm): string {
  if (replicaOf !== null) return `${name}: replica of ${replicaOf}`;
  const changes = differences.map(({ key, arm }) => `${key}=${typeof arm === 'string' ? arm : JSON.stringify(arm)}`);
  return `${name}: ${changes.length === 0 ? 'the base' : changes.join(', ')}`;
}
