import type { Rotating } from './rotation';

/** Synthesized task before its decision, with the data of every stage. Its aim is a feedback signal, or `random`. */
export type Candidate = Rotating & {
  actions: readonly string[];
  /** `model`: a language model wrote the query; `generator`: the environment derived query and actions from one another. */
  author: 'generator' | 'model';
  /** Why it was rejected at synthesis, before it became a task of the environment. Is null for a valid task. */
  refusal: string | null;
  execution: Execution;
  judgement: Judgement | null;
  /** Attempts of the solver that were scored, and how many of them have a reward of 1. Is null if none was planned. */
  attempts: { solved: number; scored: number } | null;
  /** Unit sentence embedding of the goal; null if no stage compares embeddings. */
  vector: readonly number[] | null;
};

/** Result of the reference actions in a fresh environment. */
export type Execution = {
  played: boolean;
  /** In [0, 1]; null if the actions did not run or the environment has no checker for this task. */
  reward: number | null;
};

/**
 * Verdict of the judge on that run; `completed` is null if the answer is unusable. The verdict of a judge that is not
 * trusted (`isTrusted` false) admits nothing.
 */
export type Judgement = { completed: boolean | null; reason: string; isTrusted?: boolean };

/** A task that candidates are compared with. */
export type KnownTask = { id: string; goal: string; contentKey: string; vector: readonly number[] | null };

export type AdmissionRules = {
  /** Breaks ties between candidates: an integer in [0, 2^31). */
  seed: number;
  /** `off`: candidates are neither executed nor judged. */
  validation: 'on' | 'off';
  rule: AcceptanceRule;
  /** Max actions per attempt. */
  maxActions: number;
  /** `contents`: one goal is played in many worlds, so a generator's candidate differs from every task of another content. */
  compare?: 'goals' | 'contents' | undefined;
  duplicates: { similarity: number; cosine: number };
  decontamination: { ngram: number | null; share: number; cosine: number };
  diversity: { floor: number; neighbours: number };
  /** True if the vectors come from an embedding model, so that their cosine measures meaning. */
  embedded: boolean;
  /** Max admitted candidates of an aim; null means no limit. */
  quotaOf: (aim: string) => number | null;
  /** Max admitted candidates of all aims; null means no limit. */
  growthCap: number | null;
  /** Is null where no approval is needed; `pending` until the operator has decided. */
  approval: null | 'pending' | { rejected: ReadonlySet<string> };
};

/**
 * Verdicts that accept a candidate which the environment can score; all others need the judge's approval. The reward of its
 * own actions is 1 for any query where the checker was made from them.
 *
 *   by-author  for queries of a language model `agreed`, with attempts of the solver also `solvable`; `paper` for queries of
 *              the environment's generator. An untrusted judge's approval is not needed, then the solver's success is
 *   agreed     a reward of 1 and the judge's approval
 *   solvable   a reward of 1, and of an attempt that sees a model's query alone
 *   strict     a reward of 1
 *   paper      a reward of 1, or of more than 0 (arXiv:2604.15840, section 3.3: failed with a positive reward)
 */
export type AcceptanceRule = 'by-author' | 'paper' | 'strict' | 'agreed' | 'solvable';

export const admissionStages = [
  'worded',
  'executed',
  'valid',
  'judged',
  'unique',
  'decontaminated',
  'diverse',
  'quota',
  'growth-cap',
  'approved',
] as const;

export type AdmissionStage = (typeof admissionStages)[number];

/** Reasons for which admission rejects a candidate. Any other reason of a rejected task is from its synthesis. */
export const admissionReasons = [
  'states-actions',
  'not-executable',
  'no-query',
  'no-action',
  'too-many-actions',
  'reference-fails',
  'not-completed',
  'not-judged',
  'untrusted-judge',
  'not-solved',
  'not-attempted',
  'duplicate',
  'held-out',
  'too-near',
  'quota',
  'growth-cap',
  'operator',
] as const;

/** Reason of a query that gives its actions away. It is refused before its actions are played. */
export const statesActions = 'states-actions';

/** Verdict of one stage on a candidate. */
export type StageVerdict = {
  stage: AdmissionStage;
  passed: boolean;
  reason: string;
  /** Measured values and limits, and the id of the compared task. */
  detail: Record<string, string | number>;
};

export type Finding = Omit<StageVerdict, 'stage'>;

export const pass = (reason: string, detail: Finding['detail'] = {}): Finding => ({ passed: true, reason, detail });
export const fail = (reason: string, detail: Finding['detail'] = {}): Finding => ({ passed: false, reason, detail });
