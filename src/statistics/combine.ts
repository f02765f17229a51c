import { z } from 'zod';
import type { Config } from '../config';
import type { CombinedArm, CombineInput } from '../domain/experiment/combined';
import { runPython } from './run-python';

const measure = { value: z.number(), low: z.number().nullable(), high: z.number().nullable() };

const combineOutput: z.ZodType<{ arms: CombinedArm[] }> = z.object({
  arms: z.array(
    z.object({
      arm: z.string(),
      iqm: z.object(measure),
      gap: z.object(measure),
      profile: z.array(z.object({ score: z.number(), ...measure })),
    }),
  ),
});

/**
 * Measures arms over several environments (docs/statistics.md). Intervals are those of a bootstrap that draws the seeds of
 * each environment again.
 *
 * @throws DomainError `InvalidAnalysis`; StackError if the Python packages are not installed
 */
export const combineEnvironments = (config: Pick<Config, 'python'>, input: CombineInput): Promise<CombinedArm[]> =>
  runPython(config, ['combine'], input, combineOutput).then(({ arms }) => arms);
