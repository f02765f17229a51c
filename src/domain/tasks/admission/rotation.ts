import { compareText } from '../../compare-text';
import { groupBy } from '../../group-by';
import { deriveSeed } from '../../random/seed-tree';

/** Fields of a candidate by which its turn is chosen. */
export type Rotating = {
  id: string;
  aim: string;
  /** The exploration context of a model's candidate, the parent of a generator's; null without either. */
  source: string | null;
  /** Relation to its parent, such as `easier`; null for a model's candidate. */
  relation: string | null;
  /** In [0, 1]; null if no model stated one. */
  confidence: number | null;
  goal: string;
  contentKey: string;
};

export type Rotation<T> = {
  /** Removes and returns the candidate whose turn it is; undefined when none is left. */
  next(): T | undefined;
  /** Counts a candidate of `next` as admitted, which delays the turns of its aim, source and relation. */
  admitted(candidate: T): void;
};

/**
 * Chooses turns so that limits are shared: the next candidate is of the aim with the fewest admitted candidates, there of
 * the source with the fewest, and there of the relation with the fewest in the source, then in the aim. Rejected
 * candidates do not use up a turn. The most confident candidate comes first; ties are broken by hashes of the seed with
 * names and contents, so the turns do not depend on the order in which candidates were made.
 *
 * @param seed an integer in [0, 2^31)
 */
export function createRotation<T extends Rotating>(candidates: readonly T[], seed: number): Rotation<T> {
  const aims = branch(candidates, seed, ['aim', 'source', 'relation']);
  const takenOf = new Map<string, number>(); // by aim and relation
  const path = (candidate: T): Branch<T>[] => {
    const aim = aims.children.get(candidate.aim)!;
    const source = aim.children.get(candidate.source ?? '')!;
    return [aims, aim, source, source.children.get(candidate.relation ?? '')!];
  };
  return {
    next() {
      if (aims.left === 0) return undefined;
      const aim = least(aims);
      const relation = least(least(aim), ({ name }) => takenOf.get(`${aim.name}/${name}`) ?? 0);
      const candidate = relation.queue.shift()!;
      for (const passed of path(candidate)) passed.left -= 1;
      return candidate;
    },
    admitted(candidate) {
      const ofRelation = `${candidate.aim}/${candidate.relation ?? ''}`;
      takenOf.set(ofRelation, (takenOf.get(ofRelation) ?? 0) + 1);
      for (const passed of path(candidate)) passed.taken += 1;
    },
  };
}

type Branch<T> = {
  name: string;
  tie: number;
  /** Admitted candidates. */
  taken: number;
  /** Candidates that are still to be decided. */
  left: number;
  children: Map<string, Branch<T>>;
  /** Candidates of a branch without children, the next first. */
  queue: T[];
};

function branch<T extends Rotating>(
  candidates: readonly T[],
  seed: number,
  [level, ...deeper]: readonly ('aim' | 'source' | 'relation')[],
  name = '',
): Branch<T> {
  const base = { name, tie: seed, taken: 0, left: candidates.length };
  if (!level) return { ...base, children: new Map(), queue: byConfidence(candidates, seed) };
  const groups = groupBy(candidates, (candidate) => candidate[level] ?? '');
  const children = [...groups].map(
    ([key, members]) => [key, branch(members, deriveSeed(seed, key), deeper, key)] as const,
  );
  return { ...base, children: new Map(children), queue: [] };
}

/** Returns the child whose turn it is, among those with candidates. */
function least<T>({ children }: Branch<T>, second: (child: Branch<T>) => number = () => 0): Branch<T> {
  const order = (a: Branch<T>, b: Branch<T>): number =>
    a.taken - b.taken || second(a) - second(b) || a.tie - b.tie || compareText(a.name, b.name);
  return [...children.values()].filter(({ left }) => left > 0).reduce((a, b) => (order(b, a) < 0 ? b : a));
}

/** The id decides only between candidates of equal content. */
function byConfidence<T extends Rotating>(candidates: readonly T[], seed: number): T[] {
  const ties = new Map(candidates.map((each) => [each.id, deriveSeed(seed, each.contentKey, each.goal)]));
  return [...candidates].sort(
    (a, b) =>
      (b.confidence ?? 0) - (a.confidence ?? 0) ||
      ties.get(a.id)! - ties.get(b.id)! ||
      compareText(a.contentKey, b.contentKey) ||
      compareText(a.goal, b.goal) ||
      compareText(a.id, b.id),
  );
}
