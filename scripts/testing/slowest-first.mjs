import { BaseSequencer } from 'vitest/node';
import { costOf, shardOf } from './shards.cjs';

/** Sorts test files by their costs, so that no long file runs alone at the end, and deals them to shards. */
export class SlowestFirst extends BaseSequencer {
  async sort(files) {
    return [...files].sort((a, b) => costOf(b.moduleId) - costOf(a.moduleId) || (a.moduleId < b.moduleId ? -1 : 1));
  }

  async shard(files) {
    const ids = files.map(({ moduleId }) => moduleId);
    const kept = new Set(shardOf(ids, this.ctx.config.shard));
    return files.filter(({ moduleId }) => kept.has(moduleId));
  }
}
