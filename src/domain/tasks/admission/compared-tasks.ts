import { compareText } from '../../compare-text';
import type { AdmissionRules, KnownTask } from './candidate';
import { createPostings, createVocabulary, containment, jaccard, type Match, type Measure } from './gram-index';
import { textKey, tokenize } from './ngrams';
import { createVectorIndex } from './vector-index';

/** Goal, content and embedding of a candidate. */
type Query = Pick<KnownTask, 'goal' | 'contentKey' | 'vector'>;

/** The tasks of a pool that can change a decision about a candidate. They are found page by page, in any order. */
export type ComparedTasks = {
  /** Reads tasks with different ids. Yields after each step of some milliseconds. */
  read(page: readonly KnownTask[]): Generator<void, void>;
  /** Returns the tasks that were found so far. `admit` makes the same decisions with them as with all that were read. */
  found(): KnownTask[];
};

/** Finds the train tasks that candidates are compared with. */
export const comparedInPool = (candidates: readonly Query[], rules: AdmissionRules): ComparedTasks =>
  createComparedTasks(candidates, {
    ngram: rules.duplicates.similarity < 1 ? 3 : null,
    measure: jaccard,
    neighbours: Math.max(1, rules.diversity.neighbours),
  });

/** Finds the held-out tasks that candidates are compared with. */
export const comparedHeldOut = (candidates: readonly Query[], rules: AdmissionRules): ComparedTasks =>
  createComparedTasks(candidates, { ngram: rules.decontamination.ngram, measure: containment, neighbours: 1 });

type Comparison = {
  /** Is null if no n-grams are compared. */
  ngram: number | null;
  measure: Measure;
  /** Nearest tasks of a candidate by embedding, an integer >= 1. */
  neighbours: number;
};

/** For each candidate: the first task with its content or text, that with most of its n-grams, and the nearest ones. */
function createComparedTasks(candidates: readonly Query[], comparison: Comparison): ComparedTasks {
  const byContent = createFirstByKey(candidates.map(({ contentKey }) => contentKey));
  const byText = createFirstByKey(candidates.map(({ goal }) => textKey(goal)));
  const byGrams = comparison.ngram === null ? null : createClosest(candidates, comparison.ngram, comparison.measure);
  const byVector = createNearest(candidates, comparison.neighbours);
  return {
    *read(page) {
      for (const task of page) {
        byContent.read(task.contentKey, task);
        byText.read(textKey(task.goal), task);
      }
      yield;
      if (byGrams) yield* byGrams.read(page);
      yield* byVector.read(page);
    },
    found: () => [
      ...new Map(
        [byContent, byText, byGrams, byVector]
          .flatMap((found) => found?.found() ?? [])
          .map((task): [string, KnownTask] => [task.id, task]),
      ).values(),
    ],
  };
}

/** The first task by id with each of some keys. */
function createFirstByKey(keys: readonly string[]) {
  const first = new Map<string, KnownTask | null>(keys.map((key) => [key, null]));
  return {
    read(key: string, task: KnownTask): void {
      const found = first.get(key);
      if (found === null || (found && compareText(task.id, found.id) < 0)) first.set(key, task);
    },
    found: () => [...first.values()].filter((task) => task !== null),
  };
}

/** The task with the most similar n-grams for each candidate, on ties the first one by id. */
function createClosest(candidates: readonly Query[], n: number, measure: Measure) {
  const vocabulary = createVocabulary(n);
  const queries = candidates.map(({ goal }) => vocabulary.learn(tokenize(goal)));
  const best: (Ranked | undefined)[] = queries.map(() => undefined);
  return {
    *read(page: readonly KnownTask[]): Generator<void, void> {
      const postings = createPostings();
      const byId = new Map(page.map((task) => [task.id, task]));
      for (const { id, goal } of inIdOrder(page)) postings.add(id, vocabulary.find(tokenize(goal)));
      yield;
      for (const [i, query] of queries.entries()) {
        const match = postings.closest(query, measure, best[i]?.value);
        const found = match && ranked(match, byId);
        if (found && (!best[i] || compareRanks(found, best[i]) < 0)) best[i] = found;
        yield;
      }
    },
    found: () => best.flatMap((found) => (found ? [found.task] : [])),
  };
}

/** The `k` tasks with the most similar embeddings for each candidate, on ties the first ones by id. */
function createNearest(candidates: readonly Query[], k: number) {
  const queries = candidates.flatMap(({ vector }) => (vector ? [{ vector, nearest: [] as Ranked[] }] : []));
  return {
    *read(page: readonly KnownTask[]): Generator<void, void> {
      if (queries.length === 0) return;
      const byId = new Map(page.map((task) => [task.id, task]));
      const index = createVectorIndex();
      for (const { id, vector } of page) if (vector) index.add(id, vector);
      yield;
      for (const query of queries) {
        const similarities = index.similarities(query.vector);
        const worst = query.nearest[k - 1]?.value ?? -Infinity;
        const nearer = [...similarities.keys()].filter((position) => similarities[position]! >= worst);
        const found = nearer.map((position) =>
          ranked({ id: index.ids[position]!, value: similarities[position]! }, byId),
        );
        query.nearest = [...query.nearest, ...found].sort(compareRanks).slice(0, k);
        yield;
      }
    },
    found: () => queries.flatMap(({ nearest }) => nearest.map(({ task }) => task)),
  };
}

type Ranked = { task: KnownTask; value: number };

const ranked = ({ id, value }: Match, byId: ReadonlyMap<string, KnownTask>): Ranked => ({ task: byId.get(id)!, value });

const compareRanks = (a: Ranked, b: Ranked): number => b.value - a.value || compareText(a.task.id, b.task.id);

const inIdOrder = (tasks: readonly KnownTask[]): KnownTask[] => [...tasks].sort((a, b) => compareText(a.id, b.id));
