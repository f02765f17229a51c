/** Four projects: `unit` needs nothing, `store` a Postgres, `temporal` a Temporal server, `stack` starts everything. */
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

const project = (displayName, folders) => ({
  ...shared,
  displayName,
  testMatch: folders.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
});

module.exports = {
  testTimeout: 120_000,
  projects: [
    project('unit', ['domain', 'report', 'llm', 'training']),
    project('store', ['store']),
    project('temporal', ['workflows']),
    project('stack', ['stack', 'cli', 'envs', 'campaign']),
  ],
};
