import { count, counted, dateTime, dollars, duration, thousands } from '../../domain/formats';
import { code, number, properties, table, text } from '../../tables/table';
import { barChart } from '../charts/bar-chart';
import type { Chart } from '../charts/figure';
import { timelineChart } from '../charts/timeline-chart';
import { key, lead, note } from '../page/blocks';
import { type Block, panels } from '../page/section';
import { defineSection, iterationsOf, type Results, total } from './campaign-data';
import { listTrainingRuns, type TrainingRun } from './training-runs';
import {
  listAttemptCosts,
  listEvents,
  listFaultGroups,
  listLedgerGroups,
  listPhases,
  listResumeGroups,
  type Phase,
} from './time-and-cost-query';

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
  body: (data) => [
    lead(summary(data)),
    data.phases.length > 0 ? panels(timelines(data.phases)) : note('No phase has begun.'),
    ...(data.attemptCosts.length + data.trainingRuns.length > 0 ? spending(data) : []),
    data.ledger.length > 0 ? ledgerTable(data.ledger) : note('The ledger has no entry yet.'),
    data.faults.length > 0 ? faultTable(data.faults) : note('No attempt ended in a fault.'),
    data.resumes.length > 0 && resumeTable(data.resumes),
    data.events.length > 0 && eventTable(data.events),
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
  const spans = iterationsOf(phases).map((iteration) => {
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

function spending({ attemptCosts, trainingRuns }: Rows): Block[] {
  const iterations = iterationsOf([...attemptCosts, ...trainingRuns]).sort((a, b) => a - b);
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

const costTable = (costs: Rows['attemptCosts']) =>
  table('Attempts by iteration and purpose', costs, [
    ...properties('iteration', 'purpose', 'attempts'),
    number('prompt tokens', (c) => c.promptTokens, count),
    number('completion tokens', (c) => c.completionTokens, count),
    number('attempt time, summed', (c) => c.seconds, duration),
  ]);

const ledgerTable = (ledger: Rows['ledger']) =>
  table('Ledger; seconds of attempts and jobs that ran at the same time are summed', ledger, [
    text('entry', ({ entry }) => entryNames[entry] ?? entry),
    ...properties('unit', 'entries'),
    number('amount', ({ unit, amount }) =>
      unit === 'usd' ? dollars(amount) : unit.endsWith('seconds') ? duration(amount) : count(amount),
    ),
  ]);

const entryNames: Record<string, string> = {
  reserve: 'reserved',
  settle: 'settled',
  release: 'released',
  found: 'found elsewhere',
};

const faultTable = (faults: Rows['faults']) =>
  table('Faults of attempts; a fault is never counted as a reward of 0', faults, [
    ...properties('iteration', 'outcome'),
    text('effect on the attempt', ({ replaced }) =>
      replaced ? 'rolled out again' : 'left out of signals, pairs and evaluation',
    ),
    ...properties('example', 'faults'),
  ]);

const resumeTable = (resumes: Rows['resumes']) =>
  table('Interrupted attempts; an attempt whose replay differed started again', resumes, [
    text('iteration', (row) => row.iteration),
    number('resumed', (row) => row.attempts),
    number('turns replayed', (row) => row.turns),
    number('started again', (row) => row.mismatches),
  ]);

const eventTable = (events: Rows['events']) =>
  table('Events', events, [
    text('time', (event) => dateTime(event.recordedAt.toISOString())),
    text('iteration', (event) => event.iteration),
    text('event', (event) => event.kind),
    text('actor', (event) => event.actor),
    code('detail', ({ detail }) => (Object.keys(detail).length === 0 ? null : JSON.stringify(detail))),
  ]);
