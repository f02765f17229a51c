/** Operator of a command, stored with its event. */
export type Operator = { actor: string; reason?: string };

/**
 * An operator command of a campaign or an experiment. One entry is the whole command: the workflow handles its message, the
 * client sends it, and the command line offers it.
 */
export type OperatorCommand<State, Input extends Operator = Operator> = {
  /** Name of the update of Temporal. Running workflows handle it, so it never changes. */
  message: string;
  /** Help of the command line. */
  description: string;
  /** Returns the change of the command to the state; null when the command changes nothing. */
  apply(state: State, input: Input): Partial<State> | null;
};
