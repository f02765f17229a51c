/**
 * Three projects, so that one can be run alone: `unit` needs nothing, `store` a Postgres, `system` starts servers,
 * workers and trainers. Everything is real; only a language model's place is taken by a scripted HTTP server.
 */
const shared = {
  testEnvironment: 'node',
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

const project = (displayName, places, more = {}) => ({
  ...shared,
  ...more,
  displayName,
  testMatch: places.map((place) => `<rootDir>/test/${place}.test.ts`),
});

module.exports = {
  testTimeout: 120_000,
  projects: [
    project('unit', [
      '*',
      'domain/**/*',
      'report/**/*',
      'spec/**/*',
      'llm/**/*',
      'training/**/*',
      'workers/**/*',
      'envs/**/*',
      'chaos/**/*',
      'temporal/**/*',
    ]),
    project('store', ['store/**/*', 'activities/**/*'], { globalTeardown: '<rootDir>/test/support/stop-postgres.ts' }),
    project('system', ['stack/**/*', 'workflows/**/*', 'cli/**/*', 'campaign/**/*', 'security/**/*']),
  ],
};
