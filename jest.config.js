/** Tests use real servers, workers and trainers; only language models and fine-grained faults are scripted. */
module.exports = {
  testEnvironment: '<rootDir>/scripts/testing/measured-environment.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 120_000,
  globalTeardown: '<rootDir>/test/support/stop-servers.ts',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs', ignoreDynamic: true }, // import() stays: node-pg-migrate is an ES module
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.coevolve', '<rootDir>/.venv'],
};
