// Jest's environment of Node, which also writes down the costs of a test file, and which file runs in this process, so that
// scripts/testing/process-costs.mjs knows whose its child processes are.
const { appendFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { TestEnvironment } = require('jest-environment-node');
const { ownTicks } = require('./process-stat.cjs');

const costs = process.env.TEST_COSTS;

module.exports = class MeasuredEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = path.relative(config.projectConfig.rootDir, context.testPath);
  }

  async setup() {
    await super.setup();
    if (costs !== undefined) writeFileSync(`${costs}.${process.pid}`, this.file);
    this.start = { ticks: ownTicks(), at: Date.now() };
  }

  async teardown() {
    await super.teardown();
    if (costs === undefined) return;
    const row = {
      file: this.file,
      pid: process.pid,
      ticks: ownTicks() - this.start.ticks,
      ms: Date.now() - this.start.at,
    };
    appendFileSync(costs, `${JSON.stringify(row)}\n`);
  }
};
