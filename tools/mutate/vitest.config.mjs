import { defineConfig } from 'vitest/config';

/** The tests of src/domain alone; StrykerJS records which test covers which mutant. */
export default defineConfig({
  test: {
    include: ['test/domain/**/*.test.ts'],
    exclude: ['**/*statistics-oracle*'], // starts Python, which Stryker's copy lacks
    globals: true,
    setupFiles: ['tools/mutate/fewer-runs.mjs'],
  },
});
