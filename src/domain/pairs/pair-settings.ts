import type { AgentRole } from '../roles';

/** The two sources of a pair's trajectories (arXiv:2511.22254, equations 6 and 8). */
export type PairKind = 'failure-failure' | 'expert-target' | 'expert-failure' | 'expert-positive';

export const pairKinds: readonly PairKind[] = ['failure-failure', 'expert-target', 'expert-failure', 'expert-positive'];

/** Rewards r with low <= r < high. A rejected reward is always below 1, so `high` 1 has no upper limit. */
export type RewardRange = { low: number; high: number };

export type PairKindSettings = {
  enabled: boolean;
  /** Rewards of rejected trajectories. Arms with other ranges and an equal `maxPairs` differ only in hardness. */
  reward: RewardRange;
  /** Quota: maximum pairs of this kind in one training set, null for no limit. A seeded draw decides which pairs are dropped. */
  maxPairs: number | null;
  /** Maximum pairs of this kind from one task, null for no limit. */
  maxPairsPerTask: number | null;
  /** Weight of the DPO term, >= 0. */
  lambdaDpo: number;
  /** Weight of the negative log-likelihood of the chosen trajectory, >= 0. */
  lambdaSft: number;
};

/** Settings that both agents' pairs have. */
type SharedPairSettings = {
  /**
   * Drops a candidate with the same actions on both sides, and all but one candidate of a task with the same chosen and
   * the same rejected actions: K attempts of a small policy repeat each other, and two agents that begin as one policy
   * repeat each other too, so their pairs would weigh one mistake many times. Of equal candidates of two kinds, the kind
   * that `pairKinds` lists first keeps its one. The papers play one attempt per task and need no such rule.
   */
  dropSameActions: boolean;
  /**
   * Minimum reward of a hard negative, in [0, 1]: a rejected trajectory below success with at least this reward. 0.6 is
   * known only from summaries of later versions of arXiv:2511.22254; the first version has "near-success".
   */
  hardNegativeReward: number;
};

export type FailurePairSettings = PairKindSettings &
  SharedPairSettings & {
    /**
     * Eq. 6 pairs F_tgt with F_fail (`cross-only`); the text of the paper describes both agents' failures together, which
     * also pairs two failures of one agent (`union`).
     */
    candidates: 'cross-only' | 'union';
  };

const anyReward: RewardRange = { low: 0, high: 1 };

export const defaultFailurePairSettings: FailurePairSettings = {
  enabled: true,
  reward: anyReward,
  maxPairs: null,
  maxPairsPerTask: null,
  lambdaDpo: 1, // eq. 7 is DPO alone
  lambdaSft: 0,
  dropSameActions: true,
  hardNegativeReward: 0.6,
  candidates: 'cross-only',
};

export type TargetPairSettings = SharedPairSettings & {
  /** The agent that trains on the pairs: the target, or the ablation's positive agent. */
  forRole: AgentRole;
  kinds: Record<PairKind, PairKindSettings>;
  /**
   * For an attempt with a higher reward than its expert: `flip` chooses the attempt, as in ETO's code (eq. 8 does not
   * define it); `drop` counts the candidate as `expert-not-better`.
   */
  expertBeaten: 'flip' | 'drop';
};

const kind = (enabled: boolean, lambdaDpo: number, lambdaSft: number): PairKindSettings => ({
  enabled,
  reward: anyReward,
  maxPairs: null,
  maxPairsPerTask: null,
  lambdaDpo,
  lambdaSft,
});

/** Eq. 8 with the weights of eq. 9: both expert kinds and failures against failures. */
export const defaultTargetPairSettings: TargetPairSettings = {
  forRole: 'target',
  kinds: {
    'failure-failure': kind(true, 1, 0),
    'expert-target': kind(true, 0.5, 0.5),
    'expert-failure': kind(true, 0.5, 0.5),
    'expert-positive': kind(false, 0.5, 0.5),
  },
  expertBeaten: 'flip',
  dropSameActions: true,
  hardNegativeReward: 0.6,
};

/** ETO (arXiv:2403.02502): the target's own attempts against experts, by DPO alone. */
export const etoPairSettings: TargetPairSettings = {
  ...defaultTargetPairSettings,
  kinds: {
    'failure-failure': kind(false, 1, 0),
    'expert-target': kind(true, 1, 0),
    'expert-failure': kind(false, 1, 0),
    'expert-positive': kind(false, 1, 0),
  },
};

/** The second agent of the ablation, trained like ETO on its own attempts. */
export const positiveAgentPairSettings: TargetPairSettings = {
  ...etoPairSettings,
  forRole: 'positive',
  kinds: {
    ...etoPairSettings.kinds,
    'expert-target': kind(false, 1, 0),
    'expert-positive': kind(true, 1, 0),
  },
};

/** The target with a positive agent: eq. 8 with the positive agent instead of the failure agent. */
export const positivePartnerPairSettings: TargetPairSettings = {
  ...defaultTargetPairSettings,
  kinds: {
    ...defaultTargetPairSettings.kinds,
    'expert-failure': kind(false, 0.5, 0.5),
    'expert-positive': kind(true, 0.5, 0.5),
  },
};
