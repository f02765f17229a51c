import { z } from 'zod';
import { patternExtractors } from '../domain/signals/action-pattern';
import { defaultFeedbackSettings } from '../domain/signals/feedback-settings';
import { keyRules } from './key-rules';
import { choice, count, flag, unit } from './key-types';

const { forgetting, boundary, rare } = defaultFeedbackSettings;

const enabled = (isEnabled: boolean) =>
  flag.default(isEnabled).describe('Whether the signal is detected; a disabled one requests no tasks.');

/** The feedback signals of arXiv:2604.15840, section 3.1. Every choice that the paper leaves open is a setting. */
export const signalSettingsSchema = z.strictObject({
  forgetting: z
    .strictObject({
      enabled: enabled(forgetting.enabled),
      window: count
        .default(forgetting.window)
        .describe('Iterations of the history, of those in which the task was played (W).'),
      score: choice(['drop', 'rollout', 'mean', 'max'])
        .default(forgetting.score)
        .describe(
          'Comparison of the history: an exact test of the successes (drop), or the reward of each attempt (the formula), ' +
            'their mean or their maximum.',
        ),
      maxP: z
        .number()
        .positive()
        .max(1)
        .default(forgetting.maxP)
        .describe('For drop: largest probability of such a drop if nothing had changed.')
        .register(keyRules, {
          idleIf: ({ signals }) => signals.forgetting.score !== 'drop' && 'only score drop tests',
        }),
      history: choice(['before-current-iteration', 'running'])
        .default(forgetting.history)
        .describe('Whether earlier attempts of the same iteration belong to the history (running).')
        .register(keyRules, {
          idleIf: ({ signals }) => signals.forgetting.score === 'drop' && 'score drop compares iterations',
        }),
      scope: choice(['task', 'task-type']).default(forgetting.scope).describe('History of the task, or of its type.'),
      threshold: unit.default(forgetting.threshold).describe('Reward from which an attempt is a success here.'),
    })
    .prefault({})
    .describe('Attempts that fail at a task that was solved before.'),
  boundary: z
    .strictObject({
      enabled: enabled(boundary.enabled),
      threshold: unit
        .default(boundary.threshold)
        .describe('Reward above which an attempt is a success here, and below which it is a failure.'),
    })
    .prefault({})
    .describe('Tasks with successes and failures in one iteration.'),
  rare: z
    .strictObject({
      enabled: enabled(rare.enabled),
      thetaPercent: z
        .number()
        .positive()
        .max(100)
        .default(rare.thetaPercent)
        .describe('Share in percent below which a pattern of actions is rare (theta).'),
      minTotal: count
        .default(rare.minTotal)
        .describe('Counted patterns or trajectories (N) before which no pattern is rare (N_min).'),
      minCount: count.default(rare.minCount).describe('Trajectories that must contain a pattern.'),
      pattern: choice(patternExtractors)
        .default(rare.pattern)
        .describe('Definition of a pattern: all actions, two or three successive ones, or the set of their names.'),
      countUnit: choice(['patterns', 'trajectories'])
        .default(rare.countUnit)
        .describe('Unit in which a pattern and the total are counted.'),
      among: choice(['rewarded', 'all'])
        .default(rare.among)
        .describe('Patterns that count: those that occurred with a reward of at least 0.5, or all (the formula).'),
      measure: choice(['tail', 'share'])
        .default(rare.measure)
        .describe(
          'Rare is the rarest part of all patterns, thetaPercent of them (tail), or each below thetaPercent (the formula).',
        ),
    })
    .prefault({})
    .describe('Attempts with a rare pattern of actions.'),
});
