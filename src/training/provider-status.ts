import type { FineTuningJob, FineTuningJobEvent } from 'openai/resources/fine-tuning';
import { z } from 'zod';
import type { TrainingFailure, TrainingProgress } from './training-backend';

/** The updates that a job's events tell of, by the trainer's names, in their order, each once. */
export function curveOf(events: readonly FineTuningJobEvent[]): TrainingProgress[] {
  const bySteps = new Map<number, TrainingProgress>();
  for (const { type, data } of events) {
    const parsed = type === 'metrics' ? metrics.safeParse(data) : undefined;
    if (!parsed?.success) continue;
    const { step, total_steps, train_loss: loss, train_mean_token_accuracy: token_accuracy } = parsed.data;
    const told = { step, total_steps, loss, token_accuracy };
    const numbers = Object.entries(told).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
    bySteps.set(step, Object.fromEntries(numbers));
  }
  return [...bySteps.values()].sort((a, b) => a['step']! - b['step']!);
}

const metrics = z.looseObject({
  step: z.number().int().min(1),
  total_steps: z.number().nullish(),
  train_loss: z.number().nullish(),
  train_mean_token_accuracy: z.number().nullish(),
});

/** Why a job came to nothing, in words of ours for what an operator can mend. */
export function failureOf({ id, status, error }: FineTuningJob): TrainingFailure {
  if (status === 'cancelled')
    return {
      type: 'cancelled-there',
      message: `${id} was cancelled at the provider, by somebody else than this stack`,
    };
  const isInput = /file|format|example|invalid/.test(error?.code ?? '');
  const type = isInput ? 'bad-input' : 'provider';
  return { type, message: `${id}: ${error?.code || 'no code'}: ${error?.message || 'no reason was given'}` };
}

export const isLive = ({ status }: FineTuningJob): boolean =>
  ['validating_files', 'queued', 'running'].includes(status);
