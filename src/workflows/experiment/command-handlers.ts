import { proxyActivities, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { ExperimentState } from '../../domain/experiment/progress';
import { profiles } from '../temporal/activity-profiles';
import {
  experimentStatusQuery,
  extendExperimentUpdate,
  pauseExperimentUpdate,
  resumeExperimentUpdate,
  stopExperimentUpdate,
} from '../temporal/messages';
import { searchAttributes } from '../temporal/search-attributes';
import { experimentDetails } from './details';

const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

export type ExperimentCommands = {
  /** Updates the details and search attributes of the Temporal UI. */
  show(): void;
  /** Stores status, stopped arms and reason; one change after the other. */
  record(): Promise<void>;
};

/** Handles the operator commands of an experiment. Each is safe to repeat. */
export function handleExperimentCommands(state: ExperimentState): ExperimentCommands {
  let last: Promise<void> = Promise.resolve();
  const show = (): void => {
    setCurrentDetails(experimentDetails(state));
    upsertSearchAttributes(searchAttributes.ofExperiment(state));
  };
  const record = (): Promise<void> => {
    const { experimentId, status, stopped, reason } = state;
    const change = { experimentId, status, stopped: [...stopped], reason, revision: ++state.revision };
    last = last.then(() => storeUnlimited.recordExperiment(change));
    show();
    return last;
  };
  const apply = async (change: Partial<ExperimentState>): Promise<ExperimentState> => {
    Object.assign(state, change);
    await record();
    return state;
  };
  const by = (verb: string, { actor, reason }: { actor: string; reason?: string }): string =>
    `${verb} by ${actor}${reason ? `: ${reason}` : ''}`;

  setHandler(experimentStatusQuery, () => state);
  setHandler(pauseExperimentUpdate, (operator) =>
    state.status === 'running' && !state.stopping ? apply({ status: 'paused', reason: by('paused', operator) }) : state,
  );
  setHandler(resumeExperimentUpdate, () =>
    state.status === 'paused' ? apply({ status: 'running', reason: null }) : state,
  );
  setHandler(extendExperimentUpdate, (plan) => {
    if (!state.stopping && (state.status === 'running' || state.status === 'paused')) Object.assign(state, plan);
    show();
    return state;
  });
  setHandler(stopExperimentUpdate, ({ arm, ...operator }) => {
    if (arm === undefined) return apply({ stopping: true, status: 'running', reason: by('stopped', operator) });
    return state.stopped.includes(arm) ? state : apply({ stopped: [...state.stopped, arm] });
  });
  show();
  return { show, record };
}
