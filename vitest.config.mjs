import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './scripts/testing/slowest-first.mjs';

/** Tests use real servers, workers and trainers; only language models and fine-grained faults are scripted. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globals: true,
    // The files of a process share its modules: loading them again for each file took a tenth of all processor time.
    isolate: false,
    pool: 'forks',
    execArgv: ['-r', './tools/typescript-hook.cjs'], // for files that Temporal loads by their names
    slowTestThreshold: Number.POSITIVE_INFINITY, // each file has one line
    testTimeout: 120_000,
    hookTimeout: 120_000,
    sequence: { sequencer: SlowestFirst },
    setupFiles: ['scripts/testing/measure-costs.mjs'],
    globalSetup: ['test/support/stop-servers.ts'],
  },
});
