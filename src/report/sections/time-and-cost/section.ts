import { barChart } from '../../charts/bar-chart';
import { type Chart, panels } from '../../charts/figure';
import { timelineChart } from '../../charts/timeline-chart';
import { key, lead, note } from '../../page/blocks';
import { count, counted, dateTime, dollars, duration, nothing } from '../../page/format';
import { html, type Html } from '../../page/html';
import { defineSection, type Results } from '../../page/section';
import { table } from '../../page/table';
import { listTrainingRuns, type TrainingRun } from '../training-runs/query';
import {
  listAttemptCosts,
  listEvents,
  listFaultGroups,
  listLedgerGroups,
  listPhases,
  listResumeGroups,
  type Phase,
} from './query';

const queries = {
  phases: listPhases,
  attemptCosts: listAttemptCosts,
  trainingRuns: listTrainingRuns,
  ledger: listLedgerGroups,
  faults: listFaultGroups,
  resumes: listResumeGroups,
  events: listEvents,
};

type Rows = Results<typeof queries>;

/** Time, tokens and money by iteration, and the faults, interruptions and operator commands of the campaign. */
export const timeAndCostSection = defineSection({
  id: 'cost',
  title: 'Time and cost',
  queries,
  render: (data) => [
    lead(summary(data)),
    data.phases.length > 0 ? panels(timelines(data.phases)) : note('No phase has begun.'),
    ...(data.attemptCosts.length + data.trainingRuns.length > 0 ? spending(data) : []),
    data.ledger.length > 0 ? ledgerTable(data) : note('The ledger has no entry yet.'),
    data.faults.length > 0 ? faultTable(data) : note('No attempt ended in a fault.'),
    ...(data.resumes.length > 0 ? [resumeTable(data)] : []),
    ...(data.events.length > 0 ? [eventTable(data)] : []),
  ],
});

function summary({ attemptCosts, trainingRuns, phases }: Rows): string {
  const played = total(attemptCosts, (c) => c.promptTokens + c.completionTokens);
  const attempts = total(attemptCosts, (c) => c.attempts);
  const trained = total(trainingRuns, (run) => run.tokens ?? 0);
  const seconds = total(phases, (phase) => secondsOf(phase) ?? 0);
  const gpuSeconds = total(trainingRuns, (run) => run.gpuSeconds);
  const usd = total(trainingRuns, (run) => run.usd);
  const gpus = gpuSeconds > 0 ? ` and ${duration(gpuSeconds)} of GPUs (${dollars(usd)})` : '';
  return (
    `${count(attempts)} attempts took ${count(played)} tokens, ${counted(trainingRuns.length, 'training job')} ` +
    `${count(trained)}${gpus}; the finished phases took ${duration(seconds)} in total.`
  );
}

const secondsOf = ({ startedAt, finishedAt }: Phase): number | null =>
  finishedAt && (finishedAt.getTime() - startedAt.getTime()) / 1000;

/** Draws one timeline per iteration, all on the same scale. */
function timelines(phases: readonly Phase[]): Chart[] {
  const iterations = [...new Set(phases.map(({ iteration }) => iteration))];
  const spans = iterations.map((iteration) => {
    const own = phases.filter((phase) => phase.iteration === iteration);
    const first = own[0]!.startedAt.getTime();
    const span = (phase: Phase) => ({
      name: phase.phase,
      startS: (phase.startedAt.getTime() - first) / 1000,
      seconds: secondsOf(phase) ?? 0,
    });
    return { iteration, spans: own.map(span) };
  });
  const longest = Math.max(
    1,
    ...spans.flatMap((timeline) => timeline.spans.map(({ startS, seconds }) => startS + seconds)),
  );
  return spans.map((timeline) => {
    const seconds = total(timeline.spans, (span) => span.seconds);
    return timelineChart(`Iteration ${timeline.iteration}: ${duration(seconds)}`, timeline.spans, longest);
  });
}

function spending({ attemptCosts, trainingRuns }: Rows): Html[] {
  const everyIteration = [...attemptCosts, ...trainingRuns].map(({ iteration }) => iteration);
  const iterations = [...new Set(everyIteration)].sort((a, b) => a - b);
  const names = iterations.map(String);
  const played = (purpose: string): number[] =>
    iterations.map((iteration) =>
      total(attemptCosts, (c) =>
        c.iteration === iteration && c.purpose === purpose ? c.promptTokens + c.completionTokens : 0,
      ),
    );
  const trained = (measure: (run: TrainingRun) => number | null): number[] =>
    iterations.map((iteration) =>
      total(trainingRuns, (run) => (run.iteration === iteration ? (measure(run) ?? 0) : 0)),
    );
  const tokens = [
    { colour: 'var(--target)', values: played('train') },
    { colour: 'var(--incumbent)', values: played('evaluation') },
    { colour: 'var(--neutral)', values: trained((run) => run.tokens) },
  ];
  const seconds = [{ colour: 'var(--neutral)', values: trained((run) => run.seconds) }];
  return [
    panels([
      barChart({ title: 'Tokens per iteration', names, parts: tokens, format: thousands }),
      barChart({ title: 'Training time per iteration, seconds', names, parts: seconds }),
    ]),
    key([
      ['var(--target)', 'training attempts'],
      ['var(--incumbent)', 'evaluation attempts'],
      ['var(--neutral)', 'training jobs'],
    ]),
    costTable(attemptCosts),
  ];
}

const total = <T>(items: readonly T[], measure: (item: T) => number): number =>
  items.reduce((sum, item) => sum + measure(item), 0);

const thousands = (tokens: number): string => (tokens >= 10_000 ? `${count(tokens / 1000)}k` : count(tokens));

const costTable = (costs: Rows['attemptCosts']): Html =>
  table({
    caption: 'Attempts by iteration and purpose',
    head: ['iteration', 'purpose', 'attempts', 'prompt tokens', 'completion tokens', 'attempt time, summed'],
    textColumns: 2,
    rows: costs.map((c) => [
      String(c.iteration),
      c.purpose,
      count(c.attempts),
      count(c.promptTokens),
      count(c.completionTokens),
      duration(c.seconds),
    ]),
  });

const ledgerTable = ({ ledger }: Rows): Html =>
  table({
    caption: 'Ledger',
    head: ['entry', 'unit', 'entries', 'amount'],
    textColumns: 2,
    rows: ledger.map(({ entry, unit, entries, amount }) => [
      { reserve: 'reserved', settle: 'settled', release: 'released', found: 'found elsewhere' }[entry] ?? entry,
      unit,
      count(entries),
      unit === 'usd' ? dollars(amount) : unit.endsWith('seconds') ? duration(amount) : count(amount),
    ]),
  });

const faultTable = ({ faults }: Rows): Html =>
  table({
    caption: 'Faults of attempts; a fault is never counted as a reward of 0',
    head: ['iteration', 'outcome', 'effect on the attempt', 'example', 'faults'],
    textColumns: 4,
    rows: faults.map(({ iteration, outcome, replaced, example, faults: n }) => [
      iteration === null ? nothing : String(iteration),
      outcome,
      replaced ? 'rolled out again' : 'left out of signals, pairs and evaluation',
      example ?? nothing,
      count(n),
    ]),
  });

const resumeTable = ({ resumes }: Rows): Html =>
  table({
    caption: 'Interrupted attempts; an attempt whose replay differed started again',
    head: ['iteration', 'resumed', 'turns replayed', 'started again'],
    textColumns: 1,
    rows: resumes.map(({ iteration, attempts, turns, mismatches }) => [
      String(iteration),
      ...[attempts, turns, mismatches].map(count),
    ]),
  });

const eventTable = ({ events }: Rows): Html =>
  table({
    caption: 'Events',
    head: ['time', 'iteration', 'event', 'actor', 'detail'],
    textColumns: 5,
    rows: events.map(({ recordedAt, iteration, kind, actor, detail }) => [
      dateTime(recordedAt),
      iteration === null ? nothing : String(iteration),
      kind,
      actor,
      Object.keys(detail).length === 0 ? nothing : html`<code>${JSON.stringify(detail)}</code>`,
    ]),
  });
