/**
 * Kinds of feedback signals (arXiv:2604.15840, section 3.1): the agent lost a task that it could solve, it solves a task
 * only sometimes, or it took rare actions.
 */
export type FeedbackSignalKind = 'forgetting' | 'boundary' | 'rare';

export const feedbackSignalKinds: readonly FeedbackSignalKind[] = ['forgetting', 'boundary', 'rare'];

/** One trajectory marked by one kind of signal. Kinds are independent: a trajectory may have all three. */
export type FeedbackSignal = {
  kind: FeedbackSignalKind;
  taskId: string;
  trajectoryId: string;
  /** In [0, 1]; a task with a stronger signal is explored first. Comparable within a kind only. */
  strength: number;
  /** Numbers behind the signal, without nesting, for reports and prompts. */
  detail: Record<string, number | string>;
};
