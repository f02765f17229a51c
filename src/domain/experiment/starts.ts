import { canonicalJson } from '../canonical-json';
import { groupBy } from '../group-by';
import type { CellName } from './experiment';

/** The part of a manifest about the training before iteration 1; a table made by hand may lack it. */
export type StartManifest = {
  spec?: { policy?: unknown; compute?: unknown; training?: { init?: unknown; sft?: unknown } | undefined } | undefined;
  datasets?: readonly { iteration: number; role: string; sha256: string | null; seed: number }[] | undefined;
  policies?: readonly { iteration: number; role: string; id: string }[] | undefined;
};

type Cell = CellName & { manifest: StartManifest | null };

/** Returns the id of the target policy before iteration 1. */
export const startPolicy = (manifest: Pick<StartManifest, 'policies'> | null): string | undefined =>
  manifest?.policies?.find(({ iteration, role }) => iteration === 0 && role === 'target')?.id;

/**
 * Returns the seeds whose cells trained the same start from the same data and seed, and got different weights. Processors
 * of different kinds round differently. Such cells compare their methods with more noise, and without bias.
 */
export function seedsOfUnequalStarts(cells: readonly Cell[]): number[] {
  const made = cells.filter(({ manifest }) => startPolicy(manifest) !== undefined);
  const groups = groupBy(made, ({ seed, manifest }) => `${seed} ${canonicalJson(recipeOf(manifest!))}`);
  const unequal = [...groups.values()].filter(
    (group) => new Set(group.map(({ manifest }) => startPolicy(manifest))).size > 1,
  );
  return [...new Set(unequal.map(([cell]) => cell!.seed))].toSorted((a, b) => a - b);
}

/** Everything that decides the weights of a start, apart from the machine. */
function recipeOf({ spec, datasets = [] }: StartManifest): unknown {
  const data = datasets.flatMap(({ iteration, role, sha256, seed }) =>
    iteration === 0 ? [{ role, sha256, seed }] : [],
  );
  return { data, policy: spec?.policy, compute: spec?.compute, init: spec?.training?.init, sft: spec?.training?.sft };
}
