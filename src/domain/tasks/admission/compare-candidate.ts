import { fail, pass, type AdmissionRules, type Candidate, type Finding, type KnownTask } from './candidate';
import { createGramIndex, jaccard, containment, type Match } from './gram-index';
import { textKey, tokenize } from './ngrams';
import { createVectorIndex, largest, meanOfLargest } from './vector-index';

/**
 * Stages that compare a candidate with existing tasks. `add` adds an admitted candidate to the pool.
 *
 * @param pool    train tasks that were admitted before
 * @param heldOut tasks that no admitted task may resemble
 */
export function createComparisons(pool: readonly KnownTask[], heldOut: readonly KnownTask[], rules: AdmissionRules) {
  const known = createKnownTasks(3);
  const heldOutTasks = createKnownTasks(rules.decontamination.ngram);
  for (const task of pool) known.add(task);
  for (const task of heldOut) heldOutTasks.add(task);
  return {
    unique: (candidate: Candidate): Finding => unique(candidate, known, rules),
    decontaminated: (candidate: Candidate): Finding => decontaminated(candidate, heldOutTasks, rules),
    diverse: (candidate: Candidate): Finding => diverse(candidate, known, rules),
    add: known.add,
  };
}

/** Rejects a candidate with the content or text of a pool task, or with nearly the same words or meaning. */
function unique(candidate: Candidate, known: KnownTasks, rules: AdmissionRules): Finding {
  const { duplicates, embedded } = rules;
  const sameContent = known.byContent.get(candidate.contentKey);
  if (sameContent) return fail('duplicate', { with: sameContent, by: 'content' });
  if (isContentEnough(candidate, rules)) return pass('no task with its content');
  const sameText = known.byText.get(textKey(candidate.goal));
  if (sameText) return fail('duplicate', { with: sameText, by: 'text' });

  const similar = duplicates.similarity < 1 ? known.grams?.closest(tokenize(candidate.goal), jaccard) : undefined;
  if (similar && similar.value >= duplicates.similarity)
    return fail('duplicate', { ...matchDetail(similar), by: 'trigrams' });
  const near = embedded ? nearest(candidate, known) : undefined;
  if (near && near.value >= duplicates.cosine) return fail('duplicate', { ...matchDetail(near), by: 'embedding' });
  return pass('no similar task', { ...(similar && { trigrams: similar.value }), ...(near && { cosine: near.value }) });
}

/** Rejects a candidate with the content of a held-out task, with too many of its n-grams, or nearly the same meaning. */
function decontaminated(candidate: Candidate, heldOutTasks: KnownTasks, rules: AdmissionRules): Finding {
  const { share, cosine } = rules.decontamination;
  const sameContent = heldOutTasks.byContent.get(candidate.contentKey);
  if (sameContent) return fail('held-out', { with: sameContent, by: 'content' });
  if (isContentEnough(candidate, rules)) return pass('no held-out task with its content');

  const similar = heldOutTasks.grams?.closest(tokenize(candidate.goal), containment);
  if (similar && similar.value >= share) return fail('held-out', { ...matchDetail(similar), by: 'n-grams' });
  const near = rules.embedded ? nearest(candidate, heldOutTasks) : undefined;
  if (near && near.value >= cosine) return fail('held-out', { ...matchDetail(near), by: 'embedding' });
  return pass('no similar held-out task', {
    ...(similar && { share: similar.value }),
    ...(near && { cosine: near.value }),
  });
}

/** A query of a model is always compared: its world may be the one of a task that asks for the same. */
const isContentEnough = ({ author }: Candidate, { compare }: AdmissionRules): boolean =>
  compare === 'contents' && author === 'generator';

/** Requires a minimum distance 1 - SR@k from the nearest neighbours in the pool; the candidate is the only i of eq. 2. */
function diverse({ vector }: Candidate, known: KnownTasks, { diversity }: AdmissionRules): Finding {
  if (diversity.floor === 0 || !vector) return pass('no floor');
  const similarity = meanOfLargest(known.similarities(vector), diversity.neighbours);
  if (similarity === null) return pass('empty pool');
  const detail = { distance: 1 - similarity, floor: diversity.floor };
  return 1 - similarity >= diversity.floor ? pass('far enough', detail) : fail('too-near', detail);
}

const matchDetail = ({ id, value }: Match): Finding['detail'] => ({ with: id, similarity: value });

function nearest({ vector }: Candidate, { vectors, similarities }: KnownTasks): Match | undefined {
  const found = vector && largest(similarities(vector));
  return found ? { id: vectors.ids[found.index]!, value: found.value } : undefined;
}

type KnownTasks = ReturnType<typeof createKnownTasks>;

/** Index of tasks by content, text, n-grams and embedding. Of two equal tasks, the first one is returned. */
function createKnownTasks(ngram: number | null) {
  const [byContent, byText] = [new Map<string, string>(), new Map<string, string>()];
  const grams = ngram === null ? null : createGramIndex(ngram);
  const vectors = createVectorIndex();
  let last: { vector: readonly number[]; among: number; similarities: Float64Array } | undefined;
  return {
    byContent: byContent as ReadonlyMap<string, string>,
    byText: byText as ReadonlyMap<string, string>,
    grams,
    vectors,

    /** Cached, because two stages compare the same candidate. */
    similarities(vector: readonly number[]): Float64Array {
      if (last?.vector !== vector || last.among !== vectors.ids.length)
        last = { vector, among: vectors.ids.length, similarities: vectors.similarities(vector) };
      return last.similarities;
    },

    add({ id, goal, contentKey, vector }: KnownTask): void {
      if (!byContent.has(contentKey)) byContent.set(contentKey, id);
      const text = textKey(goal);
      if (!byText.has(text)) byText.set(text, id);
      grams?.add(id, tokenize(goal));
      if (vector) vectors.add(id, vector);
    },
  };
}
