import { fail, pass, type AdmissionRules, type Candidate, type Finding, type KnownTask } from './candidate';
import { createGramIndex, jaccard, shareOfOwn, type Match, tokenize } from './ngrams';
import { createVectorIndex, largest, meanOfLargest } from './vector-index';

/**
 * The stages that hold a candidate against the tasks there are. `add` puts an admitted one among them.
 *
 * @param pool    train tasks that were admitted before
 * @param heldOut tasks that nothing admitted may resemble
 */
export function createComparisons(pool: readonly KnownTask[], heldOut: readonly KnownTask[], rules: AdmissionRules) {
  const known = createKnownTasks(3);
  const held = createKnownTasks(rules.decontamination.ngram);
  for (const task of pool) known.add(task);
  for (const task of heldOut) held.add(task);
  return {
    unique: (candidate: Candidate): Finding => unique(candidate, known, rules),
    decontaminated: (candidate: Candidate): Finding => decontaminated(candidate, held, rules),
    diverse: (candidate: Candidate): Finding => diverse(candidate, known, rules),
    add: known.add,
  };
}

/** Neither the content nor the text of a task of the pool, nor nearly its words or its meaning. */
function unique(candidate: Candidate, known: KnownTasks, { duplicates, embedded }: AdmissionRules): Finding {
  const twin = known.byContent.get(candidate.contentKey);
  if (twin) return fail('duplicate', { with: twin, by: 'content' });
  const namesake = known.byText.get(textKey(candidate.goal));
  if (namesake) return fail('duplicate', { with: namesake, by: 'text' });

  const like = duplicates.similarity < 1 ? known.grams?.closest(tokenize(candidate.goal), jaccard) : undefined;
  if (like && like.value >= duplicates.similarity) return fail('duplicate', { ...told(like), by: 'trigrams' });
  const near = embedded ? nearest(candidate, known) : undefined;
  if (near && near.value >= duplicates.cosine) return fail('duplicate', { ...told(near), by: 'embedding' });
  return pass('unlike any task', { ...(like && { trigrams: like.value }), ...(near && { cosine: near.value }) });
}

/** Neither the content of a held-out task, nor too many of its runs of words, nor nearly its meaning. */
function decontaminated(candidate: Candidate, held: KnownTasks, rules: AdmissionRules): Finding {
  const { share, cosine } = rules.decontamination;
  const twin = held.byContent.get(candidate.contentKey);
  if (twin) return fail('held-out', { with: twin, by: 'content' });

  const like = held.grams?.closest(tokenize(candidate.goal), shareOfOwn);
  if (like && like.value >= share) return fail('held-out', { ...told(like), by: 'n-grams' });
  const near = rules.embedded ? nearest(candidate, held) : undefined;
  if (near && near.value >= cosine) return fail('held-out', { ...told(near), by: 'embedding' });
  return pass('unlike any held-out task', { ...(like && { share: like.value }), ...(near && { cosine: near.value }) });
}

/** Far enough from its nearest neighbours in the pool: 1 - SR@k, with the candidate as the only i of eq. 2. */
function diverse({ vector }: Candidate, known: KnownTasks, { diversity }: AdmissionRules): Finding {
  if (diversity.floor === 0 || !vector) return pass('no floor');
  const similarity = meanOfLargest(known.similarities(vector), diversity.neighbours);
  if (similarity === null) return pass('nothing to be near to');
  const detail = { distance: 1 - similarity, floor: diversity.floor };
  return 1 - similarity >= diversity.floor ? pass('far enough', detail) : fail('too-near', detail);
}

const told = ({ id, value }: Match): Finding['detail'] => ({ with: id, similarity: value });

function nearest({ vector }: Candidate, { vectors, similarities }: KnownTasks): Match | undefined {
  const found = vector && largest(similarities(vector));
  return found ? { id: vectors.ids[found.place]!, value: found.value } : undefined;
}

type KnownTasks = ReturnType<typeof createKnownTasks>;

/** Tasks by all that a candidate is compared by. The first added of two equal ones is the one that is named. */
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

    /** Two stages ask the same of one candidate. */
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

/** Unlike words, punctuation counts: a formula may differ in nothing else. */
const textKey = (text: string): string => text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim();
