import type { EffortMeasure } from '../../domain/experiment/experiment';
import { scaleAround } from '../charts/axes';
import type { Axis } from '../charts/marks-chart';
import { count, dollars, duration, significant } from '../../domain/formats';

export const measureNames: Record<EffortMeasure, string> = {
  environmentAttempts: 'environment attempts',
  updates: 'updates',
  targetPairs: 'pairs of the target',
  expertTargetPairs: 'pairs of an expert and the target',
  expertFailurePairs: 'pairs of an expert and the failure agent',
  expertPositivePairs: 'pairs of an expert and the positive agent',
  failurePairs: 'pairs of two failures',
  likelihoodRows: 'rows with likelihood',
  expertRows: 'rows of experts',
  admittedTasks: 'admitted tasks',
  flags: 'flags',
  trainedTokens: 'trained tokens',
  rolloutTokens: 'rollout tokens',
  modelTokens: 'model tokens',
  usd: 'dollars',
  gpuSeconds: 'GPU seconds',
  wallSeconds: 'wall seconds',
};

/** Formats an amount of a measure with its unit. */
export function amount(measure: EffortMeasure, value: number): string {
  if (measure === 'usd') return dollars(value);
  return measure === 'wallSeconds' || measure === 'gpuSeconds' ? duration(value) : count(value);
}

/** Returns an axis of a measure from 0. */
export function measureAxis(measure: EffortMeasure, values: readonly number[]): Axis {
  const scale = scaleAround([0, ...values]);
  const format = (value: number): string => (scale.high >= 10_000 ? `${count(value / 1000)}k` : significant(value));
  return { scale, format, name: measureNames[measure] };
}
