/**
 * What an iteration reveals about the agent (arXiv:2604.15840, section 3.1): it lost a task that it could solve, it
 * solves a task only sometimes, or it did something that it rarely does.
 */
export type FeedbackSignalKind = 'forgetting' | 'boundary' | 'rare';

export const feedbackSignalKinds: readonly FeedbackSignalKind[] = ['forgetting', 'boundary', 'rare'];

/** One trajectory marked by one kind of signal. Kinds are independent: a trajectory may carry all three. */
export type FeedbackSignal = {
  kind: FeedbackSignalKind;
  taskId: string;
  trajectoryId: string;
  /** The numbers that made it fire, flat, for people and for prompts. */
  detail: Record<string, number | string>;
};
