import * as fc from 'fast-check';
import type { AdmissionRules, Candidate, KnownTask } from '../../../../src/domain/tasks/admission/candidate';

/** Candidate that passes all stages. */
export const candidate = (id: string, changes: Partial<Candidate> = {}): Candidate => ({
  id,
  aim: 'rare',
  source: null,
  relation: null,
  confidence: null,
  goal: `How many ${id}?`,
  contentKey: `key of ${id}`,
  actions: ['select 1'],
  author: 'generator',
  refusal: null,
  execution: { played: true, reward: 1 },
  judgement: null,
  attempts: null,
  vector: null,
  ...changes,
});

export const known = (id: string, changes: Partial<KnownTask> = {}): KnownTask => ({
  id,
  goal: `Is ${id} known?`,
  contentKey: `key of ${id}`,
  vector: null,
  ...changes,
});

/** Default rules without limits. */
export const rules = (changes: Partial<AdmissionRules> = {}): AdmissionRules => ({
  seed: 7,
  validation: 'on',
  rule: 'by-author',
  maxActions: 6,
  duplicates: { similarity: 0.9, cosine: 0.97 },
  decontamination: { ngram: 8, share: 0.5, cosine: 0.97 },
  diversity: { floor: 0, neighbours: 5 },
  embedded: false,
  quotaOf: () => null,
  growthCap: null,
  approval: null,
  ...changes,
});

/** Texts from a small vocabulary, so that they often share words. */
export const anyGoal = (maxLength = 14): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom('show', 'the', 'name', 'of', 'every', 'singer', 'older', 'than', '20', '30'), {
      minLength: 1,
      maxLength,
    })
    .map((words) => words.join(' '));
