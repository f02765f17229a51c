// Sorts jest's files: those that start whole stacks come first, so that no long file runs alone at the end.
const { default: Sequencer } = require('@jest/test-sequencer');

/** Folders of test/ whose files take longest, the longest first. */
const slow = ['scenarios', 'tools', 'stack', 'workflows', 'activities', 'training'];

module.exports = class SlowestFirst extends Sequencer {
  async sort(tests) {
    return [...(await super.sort(tests))].sort((a, b) => rank(a.path) - rank(b.path)); // stable: jest's own order within
  }
};

function rank(path) {
  const found = slow.findIndex((folder) => path.includes(`/test/${folder}/`));
  return found < 0 ? slow.length : found;
}
