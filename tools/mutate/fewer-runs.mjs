import { vi } from 'vitest';

/** Caps the cases of a property test: a mutant is run against every property that covers it. The score is a lower bound. */
const maxRuns = 25;

vi.mock('fast-check', async (importOriginal) => {
  const actual = await importOriginal();
  const assert = (property, parameters) =>
    actual.assert(property, { ...parameters, numRuns: Math.min(parameters?.numRuns ?? 100, maxRuns) });
  return { ...actual, assert };
});
