import { attemptLine, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import { progressLine, jobProgress } from '../../domain/training/job-progress';
import type { RunningCalls } from '../../store/spending/running-calls';
import type { TrainingCost } from '../../store/spending/ledger';
import type { ChosenDefault } from '../../client/fit/environment-defaults';
import type { EnrichmentRow } from '../../store/trajectories/enrichments';
import type { TrainingLoss } from '../../store/training/training-runs';
import type { RunningJob } from '../../store/training/training-progress';
import { count, counted, decimal, dollars, duration, percent, rate, rounded } from '../../domain/formats';

/** Formats a running rollout as one line. */
export const rolloutText = (rollout: AttemptProgress): string =>
  `attempts of ${rollout.purpose}: ${attemptLine(rollout)}`;

/** Formats the calls of language models in a running phase as one line, at a time in ms since 1970. */
export function callsText({ phase, runs, calls, tokens, waiting, closed }: RunningCalls, now: number): string {
  const secondsTo = (time: Date): number => Math.max(0, (time.getTime() - now) / 1000);
  const waits = waiting.map(
    (one) =>
      `${counted(one.calls, 'answer')} of ${one.provider} (${one.purpose}, the oldest for ${duration(Math.max(0, now - one.since.getTime()) / 1000)})`,
  );
  return [
    `language models in ${phase}: ${runs > 0 ? `${counted(runs, 'run')}, ` : ''}${counted(calls, 'call')}, ${count(tokens)} tokens`,
    ...(waits.length > 0 ? [`waits for ${waits.join(', ')}`] : []),
    ...closed.map(
      (one) => `${one.provider} gets no request for another ${duration(secondsTo(one.until))}, after its outages`,
    ),
  ].join('; ');
}

/** Formats a running training job as one line. */
export function jobText({ role, method, step, facts }: RunningJob): string {
  const progress = jobProgress({ step, totalSteps: facts['total_steps'] ?? 0 }, facts, null);
  return `training ${role} by ${method}: ${progressLine(progress)}`;
}

/** Formats a default that the environment of a spec determines. */
export const chosenLine = (environment: string, { path, value, reason }: ChosenDefault): string =>
  `default for ${environment}: ${path.join('.')}: ${String(value)} (${reason})`;

/** Formats the cost of training jobs as one line. */
export function trainingText({ jobs, tokens, seconds, gpuSeconds, usd }: TrainingCost): string {
  const gpus = gpuSeconds > 0 ? `, ${duration(gpuSeconds)} of GPUs, ${dollars(usd, 4)}` : '';
  return `${counted(jobs, 'training job')} used ${count(tokens)} tokens and ${duration(seconds)}${gpus}`;
}

/** Formats the data that a training job left out as one line. */
export function lossText({ iteration, role, method, rowsCut, examplesDropped, ...loss }: TrainingLoss): string {
  const share = loss.actions === null ? '' : ` of ${count(loss.actions)} (${percent(loss.actionsLost / loss.actions)})`;
  return (
    `lost to the row length: ${role} by ${method} in iteration ${iteration}: ${count(loss.actionsLost)}${share} actions, ` +
    `${counted(rowsCut, 'row')} cut, ${counted(examplesDropped, 'example')} dropped`
  );
}

/** Formats the enrichment of a signal as one line. */
export const enrichmentText = ({ iteration, kind, parents, candidates, admitted }: EnrichmentRow): string =>
  `enrichment of ${kind} in iteration ${iteration}: parents ${decimal(parents.ratio)}, candidates ` +
  `${decimal(candidates.ratio)}, admitted ${decimal(admitted.ratio)} (1: as much of what it flags as in the played tasks)`;

const numberText = (key: string, value: number): string => (/\bsuccess$/.test(key) ? rate(value) : rounded(value));

/** Formats the counts of a finished phase as one line. */
export const resultText = (result: Record<string, unknown>): string =>
  Object.entries(result)
    .map(([key, value]) => `${key} ${typeof value === 'number' ? numberText(key, value) : String(value)}`)
    .join(', ');
