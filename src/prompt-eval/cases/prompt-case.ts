import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import type { ExplorationTurn } from '../../store/tasks/exploration';

/**
 * - `reference`: the reference actions of the task;
 * - `right`: another way;
 * - `mistake`: a mistake of small models that changes the result;
 * - `partial`: a part of the task is left out;
 * - `limit`: a value at a limit is treated wrongly, such as by `>=` for `>`;
 * - `extra`: the task is fulfilled, and something else is changed or returned;
 * - `other-request`: right actions for another request.
 */
export const attemptKinds = ['reference', 'right', 'mistake', 'partial', 'limit', 'extra', 'other-request'] as const;
export type AttemptKind = (typeof attemptKinds)[number];

/** An attempt with a known result; a function writes it from the reference actions of the task. */
export type KnownAttempt = {
  kind: Exclude<AttemptKind, 'reference'>;
  actions: readonly string[] | ((reference: readonly string[]) => readonly string[]);
};

/** A task with attempts of which only the `right` ones win. A signal has flagged the first one. */
export type PromptCase = {
  name: string;
  environment: string;
  aim: FeedbackSignalKind;
  /** Goal or id of a train task in the draw of its world. */
  task: string;
  attempts: readonly [KnownAttempt, ...KnownAttempt[]];
};

/** An environment with cases. */
export type CaseWorld = {
  name: string;
  options: Record<string, unknown>;
  /** The draw of its train tasks that contains the tasks of the cases. */
  draw: { count: number; seed: number };
  /** Returns whether the environment did not read the text as an action of its notation. */
  isUnread(turn: Pick<ExplorationTurn, 'action' | 'observation'>): boolean;
  cases: readonly Omit<PromptCase, 'environment'>[];
};
