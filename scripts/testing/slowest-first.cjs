// Sorts jest's files by their costs, so that no long file runs alone at the end, and deals them to shards.
const { default: Sequencer } = require('@jest/test-sequencer');
const { costOf, shardOf } = require('./shards.cjs');

module.exports = class SlowestFirst extends Sequencer {
  async sort(tests) {
    return [...(await super.sort(tests))].sort((a, b) => costOf(b.path) - costOf(a.path)); // stable: jest's own order within
  }

  shard(tests, { shardIndex, shardCount }) {
    const kept = new Set(
      shardOf(
        tests.map((test) => test.path),
        { index: shardIndex, count: shardCount },
      ),
    );
    return tests.filter((test) => kept.has(test.path));
  }
};
