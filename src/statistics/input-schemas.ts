import { z } from 'zod';
import { analysisInputSchema } from './analysis-input';
import { combineInput } from './combine';
import { powerInput } from './plan-power';
import { poolInput } from './pool';

/**
 * Returns the JSON Schemas of all inputs of `python -m coevolve_statistics`, which checks its inputs by them. After a change
 * `npm run build && node scripts/write-input-schemas.mjs` writes them into the Python package.
 */
export const inputSchemas = (): Record<'analysis' | 'power' | 'combine' | 'pool', object> => ({
  analysis: z.toJSONSchema(analysisInputSchema, { io: 'input' }),
  power: z.toJSONSchema(powerInput, { io: 'input' }),
  combine: z.toJSONSchema(combineInput, { io: 'input' }),
  pool: z.toJSONSchema(poolInput, { io: 'input' }),
});
