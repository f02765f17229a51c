/** A task that was synthesized and is to be decided, with all that is known of it. */
export type Candidate = {
  id: string;
  /** What it was synthesized for. */
  aim: string;
  goal: string;
  contentKey: string;
  actions: readonly string[];
  /** Why it was rejected as it was stored, before it was a task of the environment; null: it is one. */
  refusal: string | null;
  execution: Execution;
  judgement: Judgement | null;
  /** Unit sentence embedding of the goal; null where no stage compares embeddings. */
  vector: readonly number[] | null;
};

/** How the reference actions ran in a fresh environment. */
export type Execution = {
  played: boolean;
  /** In [0, 1]; null where the environment cannot tell: it did not run, or has no checker for this task. */
  reward: number | null;
};

/** What the judge said of that run; null where its answer was of no use. */
export type Judgement = { completed: boolean | null; reason: string };

/** A task that candidates are compared with. */
export type KnownTask = { id: string; goal: string; contentKey: string; vector: readonly number[] | null };

export type AdmissionRules = {
  /** Off: candidates are neither executed nor judged. */
  validation: 'on' | 'off';
  rule: AcceptanceRule;
  /** Most actions of an attempt. */
  maxActions: number;
  duplicates: { similarity: number; cosine: number };
  decontamination: { ngram: number | null; share: number; cosine: number };
  diversity: { floor: number; neighbours: number };
  /** Whether the vectors are of an embedding model, so that a cosine tells of meaning. */
  embedded: boolean;
  /** Most admitted for an aim; null: no limit. */
  quotaOf: (aim: string) => number | null;
  /** Most admitted over all aims; null: no limit. */
  growthCap: number | null;
  /** null: nobody is asked; `pending`: somebody is, and has not answered. */
  approval: null | 'pending' | { rejected: ReadonlySet<string> };
};

/** `paper`: completed, or failed with a reward above 0 (arXiv:2604.15840, section 3.3); `strict`: completed. */
export type AcceptanceRule = 'paper' | 'strict' | 'agreed';

export const admissionStages = [
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

/** Why a candidate is rejected; whatever else a rejected one's reason says, it was refused as it was stored. */
export const admissionReasons = [
  ...['not-executable', 'no-query', 'no-action', 'too-many-actions', 'reference-fails', 'not-completed', 'not-judged'],
  ...['duplicate', 'held-out', 'too-near', 'quota', 'growth-cap', 'operator'],
] as const;

/** What one stage said of a candidate. */
export type StageVerdict = {
  stage: AdmissionStage;
  passed: boolean;
  reason: string;
  /** The numbers, and the task that it was compared with. */
  detail: Record<string, string | number>;
};

export type Finding = Omit<StageVerdict, 'stage'>;

export const pass = (reason: string, detail: Finding['detail'] = {}): Finding => ({ passed: true, reason, detail });
export const fail = (reason: string, detail: Finding['detail'] = {}): Finding => ({ passed: false, reason, detail });
