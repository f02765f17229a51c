import type { CampaignReport } from '../../store/report-queries';
import type { Phase } from '../../store/report/phases';
import { barChart } from '../charts/bar-chart';
import { figure } from '../charts/figure';
import { timelineChart } from '../charts/timeline-chart';
import { html, type Html } from '../html';
import { count, counted, dateTime, duration, nothing } from '../quantities';
import { key, lead, note, panels, type Section } from '../section';
import { table } from '../table';

/** Section 6: where time and tokens went, and what went wrong on the way. */
export function timeAndCostSection(report: CampaignReport): Section {
  const { phases, attemptCosts, faults, events, ledger } = report;
  return {
    id: 'cost',
    title: 'Time and cost',
    body: [
      lead(summary(report)),
      phases.length > 0 ? panels(timelines(phases)) : note('No phase has begun.'),
      ...(attemptCosts.length + report.trainingRuns.length > 0 ? tokens(report) : []),
      ledger.length > 0 ? ledgerTable(report) : note('The ledger has no entry yet.'),
      faults.length > 0 ? faultTable(report) : note('No attempt ended in a fault.'),
      ...(events.length > 0 ? [eventTable(report)] : []),
    ],
  };
}

function summary({ attemptCosts, trainingRuns, phases }: CampaignReport): string {
  const played = attemptCosts.reduce((sum, c) => sum + c.promptTokens + c.completionTokens, 0);
  const attempts = attemptCosts.reduce((sum, c) => sum + c.attempts, 0);
  const trained = trainingRuns.reduce((sum, { tokens: n }) => sum + (n ?? 0), 0);
  const seconds = phases.reduce((sum, phase) => sum + (secondsOf(phase) ?? 0), 0);
  return (
    `${count(attempts)} attempts took ${count(played)} tokens, ${counted(trainingRuns.length, 'training job')} ` +
    `${count(trained)}; the phases that ended took ${duration(seconds)} together.`
  );
}

const secondsOf = ({ startedAt, finishedAt }: Phase): number | null =>
  finishedAt && (finishedAt.getTime() - startedAt.getTime()) / 1000;

/** One timeline per iteration, all on the same scale. */
function timelines(phases: readonly Phase[]): Html[] {
  const iterations = [...new Set(phases.map(({ iteration }) => iteration))];
  const spans = iterations.map((iteration) => {
    const of = phases.filter((phase) => phase.iteration === iteration);
    const first = of[0]!.startedAt.getTime();
    const span = (phase: Phase) => ({
      name: phase.phase,
      startS: (phase.startedAt.getTime() - first) / 1000,
      seconds: secondsOf(phase) ?? 0,
    });
    return { iteration, spans: of.map(span) };
  });
  const longest = Math.max(1, ...spans.flatMap((one) => one.spans.map(({ startS, seconds }) => startS + seconds)));
  return spans.map((one) => {
    const total = one.spans.reduce((sum, { seconds }) => sum + seconds, 0);
    return figure(timelineChart(`Iteration ${one.iteration}: ${duration(total)} in phases`, one.spans, longest));
  });
}

function tokens({ attemptCosts, trainingRuns }: CampaignReport): Html[] {
  const iterations = [...new Set([...attemptCosts, ...trainingRuns].map(({ iteration }) => iteration))].sort(
    (a, b) => a - b,
  );
  const played = (iteration: number, purpose: string): number =>
    attemptCosts
      .filter((c) => c.iteration === iteration && c.purpose === purpose)
      .reduce((sum, c) => sum + c.promptTokens + c.completionTokens, 0);
  const trained = (iteration: number): number =>
    trainingRuns.filter((run) => run.iteration === iteration).reduce((sum, run) => sum + (run.tokens ?? 0), 0);
  const chart = barChart({
    title: 'Tokens per iteration',
    names: iterations.map(String),
    width: 420,
    parts: [
      { colour: 'var(--target)', values: iterations.map((i) => played(i, 'train')) },
      { colour: 'var(--incumbent)', values: iterations.map((i) => played(i, 'evaluation')) },
      { colour: 'var(--neutral)', values: iterations.map(trained) },
    ],
    format: (value) => (value >= 10_000 ? `${count(value / 1000)}k` : count(value)),
  });
  const colours = [
    ['var(--target)', 'training attempts'],
    ['var(--incumbent)', 'evaluation attempts'],
    ['var(--neutral)', 'training jobs'],
  ] as const;
  return [html`<div class="panels wide">${figure(chart)}</div>`, key(colours), costTable(attemptCosts)];
}

const costTable = (costs: CampaignReport['attemptCosts']): Html =>
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

const ledgerTable = ({ ledger }: CampaignReport): Html =>
  table({
    caption: 'Ledger',
    head: ['entry', 'unit', 'entries', 'amount'],
    textColumns: 2,
    rows: ledger.map(({ entry, unit, entries, amount }) => [
      { reserve: 'reserved', settle: 'settled', release: 'released' }[entry] ?? entry,
      unit,
      count(entries),
      unit === 'seconds' ? duration(amount) : count(amount),
    ]),
  });

const faultTable = ({ faults }: CampaignReport): Html =>
  table({
    caption: 'Tries that ended in a fault; a fault is never a reward of 0',
    head: ['iteration', 'outcome', 'what became of the attempt', 'for example', 'tries'],
    textColumns: 4,
    rows: faults.map(({ iteration, outcome, replaced, example, tries }) => [
      iteration === null ? nothing : String(iteration),
      outcome,
      replaced ? 'a later try took its place' : 'left out of signals, pairs and evaluation',
      example ?? nothing,
      count(tries),
    ]),
  });

const eventTable = ({ events }: CampaignReport): Html =>
  table({
    caption: 'Events',
    head: ['when', 'iteration', 'event', 'by', 'detail'],
    textColumns: 5,
    rows: events.map(({ recordedAt, iteration, kind, actor, detail }) => [
      dateTime(recordedAt),
      iteration === null ? nothing : String(iteration),
      kind,
      actor,
      Object.keys(detail).length === 0 ? nothing : html`<code>${JSON.stringify(detail)}</code>`,
    ]),
  });
