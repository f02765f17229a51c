import { proxyActivities, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import {
  experimentCommands,
  type ExperimentCommand,
  type ExperimentCommandName,
  type ExperimentOperator,
} from '../../domain/experiment/operator-commands';
import type { ExperimentState } from '../../domain/experiment/progress';
import { profiles } from '../temporal/activity-profiles';
import { experimentStatusQuery, experimentUpdates, extendExperimentUpdate } from '../temporal/messages';
import { searchAttributes } from '../temporal/search-attributes';
import { withPageLink } from '../temporal/page-link';
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
    setCurrentDetails(withPageLink(experimentDetails(state), `/e/${state.name}`));
    upsertSearchAttributes(searchAttributes.ofExperiment(state));
  };
  const record = (): Promise<void> => {
    const { experimentId, status, stopped, reason } = state;
    const change = { experimentId, status, stopped: [...stopped], reason, revision: ++state.revision };
    last = last.then(() => storeUnlimited.recordExperiment(change));
    show();
    return last;
  };
  const apply = async (command: ExperimentCommand, operator: ExperimentOperator): Promise<ExperimentState> => {
    const change = command.apply(state, operator);
    if (!change) return state;
    Object.assign(state, change);
    await record();
    return state;
  };

  setHandler(experimentStatusQuery, () => state);
  for (const name of Object.keys(experimentCommands) as ExperimentCommandName[])
    setHandler(experimentUpdates[name], (operator) => apply(experimentCommands[name], operator));
  setHandler(extendExperimentUpdate, (plan) => {
    if (!state.stopping && (state.status === 'running' || state.status === 'paused')) Object.assign(state, plan);
    show();
    return state;
  });
  show();
  return { show, record };
}
