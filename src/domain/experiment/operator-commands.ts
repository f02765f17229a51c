import type { Operator, OperatorCommand } from '../operator-command';
import type { ExperimentState } from './progress';

/** Operator of a command. `arm` is the arm to stop; without it the command stops all arms. */
export type ExperimentOperator = Operator & { arm?: string };

export type ExperimentCommand = OperatorCommand<ExperimentState, ExperimentOperator> & {
  /** Help of the option `--arm`. Commands without this help have no such option. */
  ofArm?: string;
};

/** All operator commands of an experiment by their name on the command line, in the order of the help. */
export const experimentCommands = {
  pause: {
    message: 'pause',
    description: 'start no further cell; running campaigns continue',
    apply: ({ status, stopping }, operator) =>
      status === 'running' && !stopping ? { status: 'paused', reason: by('paused', operator) } : null,
  },
  resume: {
    message: 'resume',
    description: 'continue a paused experiment',
    apply: ({ status }) => (status === 'paused' ? { status: 'running', reason: null } : null),
  },
  stop: {
    message: 'stop',
    description: 'end an experiment after its running cells',
    ofArm: 'end this arm alone',
    apply({ stopped }, { arm, ...operator }) {
      if (arm === undefined) return { stopping: true, status: 'running', reason: by('stopped', operator) };
      return stopped.includes(arm) ? null : { stopped: [...stopped, arm] };
    },
  },
} as const satisfies Record<string, ExperimentCommand>;

export type ExperimentCommandName = keyof typeof experimentCommands;

const by = (verb: string, { actor, reason }: Operator): string => `${verb} by ${actor}${reason ? `: ${reason}` : ''}`;
