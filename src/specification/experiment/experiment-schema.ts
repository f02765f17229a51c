import { z } from 'zod';
import { effortMeasures } from '../../domain/experiment/experiment';
import { choice, count } from '../key-types';

const share = z.number().gt(0).lt(1);
const name = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'lower-case letters, digits and hyphens');
const measure = choice(effortMeasures);

/** Above the differences of an arm from itself: the two played A/A tables have 6 and 16 % of tokens. */
export const defaultBounds = { trainedTokens: 0.2, rolloutTokens: 0.2 };
const section = z.record(z.string(), z.unknown());

const seeds = z
  .union([count.max(1000), z.strictObject({ looks: z.array(count.max(1000)).min(1).max(2) })], {
    error: 'a number of seeds, or `{ looks: [8, 16] }` with one or two ascending numbers',
  })
  .describe('Seeds of every arm; or `looks`: one or two numbers of seeds after which the scores may be analysed.');

const base = z
  .union([z.string().min(1), section], { error: 'a campaign spec: its file, or its keys with `extends: <file>`' })
  .describe('Campaign spec of all arms: a file, relative to this one, or its keys, which may have `extends`.');

const evaluation = z.strictObject({
  dev: count.max(5000).describe('Tasks that choices read; environment.heldOutTasks is the sum of dev and test.'),
  test: count.max(5000).describe('Tasks that are scored and that no choice reads.'),
  temperature: z.number().min(0).max(5).optional().describe('Sampling temperature of evaluations.'),
  attempts: z.int().min(1).max(64).optional().describe('Attempts at each task of dev and test.'),
});

const match = z.strictObject({
  equal: z
    .array(measure)
    .default(['environmentAttempts', 'updates'])
    .describe('Measures that must be the same for both arms of a contrast; otherwise it is invalid.'),
  within: z
    .partialRecord(measure, share)
    .default(defaultBounds)
    .describe('Measures with the largest allowed relative difference.'),
  report: z
    .array(measure)
    .default(['wallSeconds', 'usd', 'modelTokens', 'gpuSeconds'])
    .describe('Measures that are shown and not checked.'),
});

const stopping = z.strictObject({
  futility: share
    .nullable()
    .default(null)
    .describe('Conditional power below which the first of two looks ends the experiment; null: it never does.'),
  decided: z
    .boolean()
    .default(false)
    .describe(
      'Whether a verdict of the primary contrast other than inconclusive at the first of two looks ends the experiment.',
    ),
  usd: z.number().positive().nullable().default(null).describe('Dollars after which no further cell starts.'),
  hours: z.number().positive().nullable().default(null).describe('Hours after which no further cell starts.'),
});

const concurrency = count.max(64).describe('Cells that run at the same time.');
const margin = share.describe('Smallest difference of the metric that matters: equivalence lies within it.');

const arm = z.strictObject({
  set: section.default({}).describe('Values of the campaign spec, by keys as in `synthesis.aims`, or nested.'),
  match: z
    .union([z.strictObject({ admitted: name }), z.strictObject({ admittedInTotal: name })], {
      error: '`admitted: <arm>`, or `admittedInTotal: <arm>` with synthesis.when first',
    })
    .optional()
    .describe(
      'Arm of the same seed whose admitted tasks this one equals in number, per iteration or at once in the first.',
    ),
  replicaOf: name.optional().describe('Arm that this one repeats with other seeds after the start (A/A).'),
});

/** An experiment as its author writes it. A profile replaces sizes and leaves the question as it is. */
export const experimentSchema = z.strictObject({
  name: name.describe('Name of the experiment; its cells are campaigns <name>-<arm>-s<seed>.'),
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .describe('Root of the seeds of all cells.'),
  question: z.string().min(1).describe('Question and hypotheses, for the report.'),
  base,
  arms: z.record(name, arm).describe('Arms by name: differences from the base.'),
  mayDiffer: z
    .array(z.string())
    .default([])
    .describe('Keys of environment, evaluation and budget that arms may set; by default they are equal for all arms.'),
  seeds,
  concurrency: concurrency.default(1),
  evaluation: evaluation.optional().describe("Sizes of the evaluation sets; absent: the base's."),
  match: match.prefault({}).describe('Effort that must be equal for both arms of a contrast.'),
  analysis: z
    .strictObject({
      metric: z
        .string()
        .default('success')
        .describe('success, reward, success@<feature>=<value>, pass@<k> or aulc(<measure>).'),
      primary: z
        .strictObject({
          contrast: z.string().describe('Difference of two arms: `<arm> - <arm>`.'),
          alpha: share
            .default(0.05)
            .describe('Level of the primary contrast, and of the family of the secondary ones.'),
        })
        .describe('The one contrast that the experiment is about.'),
      secondary: z
        .array(z.union([z.string(), z.strictObject({ contrast: z.string(), metric: z.string() })]))
        .default([])
        .describe('Further contrasts, corrected together (Holm); `metric` compares a share of the pool.'),
      ordering: z
        .array(name)
        .min(2)
        .nullable()
        .default(null)
        .describe('Arms that the question expects in ascending order; null: no order is claimed.'),
      equivalence: z.strictObject({ margin }).describe('Test of equivalence.'),
      breakdown: z
        .array(z.string().regex(/^[\w-]+$/, 'the name of a feature of tasks, such as pattern'))
        .default([])
        .describe('Features of tasks by which differences are also shown, such as pattern.'),
      companion: choice(['trimmed'])
        .nullable()
        .default(null)
        .describe('A second verdict, by the mean without the fifth of the seeds at each end; null: none.'),
    })
    .describe('What is compared, and how.'),
  stopping: stopping.prefault({}).describe('Limits after which no further cell starts.'),
  profiles: z
    .record(
      name,
      z.strictObject({
        base: section.optional().describe('Keys of the campaign spec that this profile replaces.'),
        seeds: seeds.optional(),
        concurrency: concurrency.optional(),
        evaluation: evaluation.partial().optional().describe('Sizes of the evaluation sets.'),
        match: match.partial().optional().describe('Effort that must be equal.'),
        analysis: z
          .strictObject({ equivalence: z.strictObject({ margin }) })
          .optional()
          .describe('Margin of equivalence.'),
        stopping: stopping.partial().optional().describe('Limits.'),
      }),
    )
    .default({})
    .describe('Other sizes of the same experiment, by name; its name becomes <name>-<profile>.'),
});

export type ExperimentFile = z.output<typeof experimentSchema>;
