/** The tests of src/domain alone, in the environment that records which test covers which mutant. */
const { globalTeardown: _none, ...config } = require('../../jest.config');

module.exports = {
  ...config,
  rootDir: process.cwd(),
  testMatch: ['<rootDir>/test/domain/**/*.test.ts'],
  testPathIgnorePatterns: ['statistics-oracle'], // starts Python, which Stryker's copy lacks
  testEnvironment: 'jest-environment-node',
  setupFilesAfterEnv: ['<rootDir>/tools/mutate/fewer-runs.js'],
};
