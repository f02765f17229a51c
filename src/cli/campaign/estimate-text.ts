import { betweenEnds, type AttemptLength } from '../../domain/training/attempt-lengths';
import type { Estimate } from '../../specification/estimate';
import type { TrainingAmounts, TrainingEstimate } from '../../specification/estimate-training';
import { count, dollars, duration, interval } from '../../domain/formats';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats an estimate as comment lines, which a dry run prints below the spec. */
export function estimateText(expected: Estimate): string {
  const { attempts, updates, training, models, attemptSpeed } = expected;

  const lines = [
    `about ${count(attempts)} attempts, ${tokensText(expected)}, ${count(updates)} training updates`,
    timeText(expected),
    ...(models
      ? [
          `about ${count(models.calls)} model calls, ${count(models.tokens)} tokens, ${dollars(models.usd, 2)}, ${duration(models.seconds)}`,
          `assumed: ${models.assumptions}`,
        ]
      : []),
    ...trainingLines(training),
    `assumed: ${attemptSpeed}`,
    ...lengthLines(expected),
  ];
  return lines.map((line) => `# ${line}`).join('\n');
}

/** Tokens of the attempts, from all that succeed to all that fail. */
function tokensText({ tokens, lengths, policyAttempts }: Estimate): string {
  if (lengths === null) return `${count(tokens)} tokens`;
  const { low, high } = betweenEnds(lengths, 'tokens');
  return `${interval(policyAttempts * low, policyAttempts * high, count)} tokens`;
}

function lengthLines({ lengths }: Estimate): string[] {
  if (lengths === null) return [];
  const sizeOf = ({ turns, tokens }: AttemptLength): string =>
    `${count(Math.round(turns))} turns and ${count(Math.round(tokens))} tokens`;
  const { solved, failed } = lengths;
  return [
    `assumed: an attempt that succeeds has ${sizeOf(solved)}, one that fails until its last turn ${sizeOf(failed)}: how many fail is known after the start`,
  ];
}

/** `6 min 2 s (4 min 10 s to 9 min 40 s)` */
export const timeText = ({ seconds, range }: Pick<Estimate, 'seconds' | 'range'>): string =>
  seconds === null || range === null
    ? 'time unknown'
    : `${duration(seconds)} (${interval(range.low, range.high, duration)})`;

function trainingLines({ phases, assumptions, ...total }: TrainingEstimate): string[] {
  if (phases.length === 0) return [];
  const rows: Named[] = [...foldIterations(phases), ...(phases.length > 1 ? [{ ...total, name: 'total' }] : [])];
  const shown = terminalTable(rows, [
    text('training', (row) => row.name),
    number('tokens', (row) => row.tokens, count),
    number('job time', (row) => time(row.seconds)),
    ...(total.gpuSeconds === 0 && total.usd === 0
      ? [] // no GPU, and nothing with a price
      : [
          number<Named>('GPU time', (row) => time(row.gpuSeconds)),
          number<Named>('cost', ({ usd }) => (usd === null ? 'unknown' : dollars(usd, 2))),
        ]),
  ]);
  return [...shown.split('\n'), `assumed: ${assumptions}`];
}

type Named = TrainingAmounts & { name: string };

/** More iterations are summed in one line. */
const maxLines = 6;

function foldIterations(phases: TrainingEstimate['phases']): Named[] {
  const named = phases.map((phase) => ({
    ...phase,
    name: phase.iteration === 0 ? 'supervised start' : `iteration ${phase.iteration}`,
  }));
  const [later, start] = [
    named.filter(({ iteration }) => iteration > 0),
    named.filter(({ iteration }) => iteration === 0),
  ];
  if (later.length <= maxLines) return named;
  const last = later.at(-1)!.iteration;
  const sum = (amount: 'seconds' | 'gpuSeconds' | 'usd'): number | null =>
    later.reduce<number | null>((all, one) => (all === null || one[amount] === null ? null : all + one[amount]), 0);
  const tokens = later.reduce((all, one) => all + one.tokens, 0);
  const name = `iterations 1 to ${last}`;
  return [...start, { name, tokens, seconds: sum('seconds'), gpuSeconds: sum('gpuSeconds'), usd: sum('usd') }];
}

const time = (seconds: number | null): string => (seconds === null ? 'unknown' : duration(seconds));
