// Deals test files to machines so that each has about the same work.
const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..', '..');
const stored = path.join(__dirname, 'costs.json');
/** Processor seconds by test file, as `npm run test:all -- --write-costs` measured them. */
const costs = existsSync(stored) ? JSON.parse(readFileSync(stored, 'utf8')) : {};

/** Returns the processor seconds of a file; a new one counts as a second. */
function costOf(file) {
  return costs[path.relative(root, path.resolve(root, file))] ?? 1;
}

/** Returns the files of shard `index` (1 to `count`): the most expensive first, each to the shard with the least so far. */
function shardOf(files, { index, count }) {
  const shards = Array.from({ length: count }, () => ({ cost: 0, files: [] }));
  for (const file of [...files].sort((a, b) => costOf(b) - costOf(a) || (a < b ? -1 : 1))) {
    const least = shards.reduce((a, b) => (b.cost < a.cost ? b : a));
    least.cost += costOf(file);
    least.files.push(file);
  }
  return shards[index - 1].files;
}

module.exports = { costOf, shardOf };
