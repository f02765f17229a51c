import type { AttemptKey } from '../../domain/campaign/ids';
import type { Range } from '../../domain/concurrency';
import type { Outcome, Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { TaskRow } from '../../store/tasks/tasks';
import type { AttemptJournal } from './attempt-journal';

/** A range of the plan with the policy that plays it. */
export type RolloutBatch = IterationKey &
  Range & {
    purpose: Purpose;
    /** Is null where the reference actions of the tasks are played, or the solver plays. */
    policyId: string | null;
    /** RL step that the attempts are for, from 1; 0 for other training. */
    step: number;
  };

export type PlannedAttempt = {
  campaignId: number;
  epoch: number;
  task: TaskRow;
  attempt: AttemptKey;
  /** Role of the policy; null without a policy. */
  role: PolicyRole | null;
  /** Hash of everything that determines the attempt. Is null for an attempt that is not shared (reuse-attempts.ts). */
  contentKey: string | null;
  /** Turns of an interrupted rollout; null if the environment cannot replay them. */
  journal: AttemptJournal | null;
};

/** A fault has no reward. */
export type Grade = { outcome: Outcome; fault: string | null; reward: number | null };
