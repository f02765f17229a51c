import type { AttemptKey } from '../../domain/campaign/ids';
import type { Outcome } from '../../domain/rollout/trajectory';
import type { TaskRow } from '../../store/tasks/tasks';
import type { AttemptJournal } from './attempt-journal';

export type PlannedAttempt = {
  campaignId: number;
  epoch: number;
  task: TaskRow;
  attempt: AttemptKey;
  /** Hash of everything that determines the attempt; null: it is neither found nor offered (find-attempts.ts). */
  contentKey: string | null;
  /** Turns of an interrupted rollout; null if the environment cannot replay them. */
  journal: AttemptJournal | null;
};

/** A fault has no reward. */
export type Grade = { outcome: Outcome; fault: string | null; reward: number | null };
