import type { ExperimentChange } from '../../store/experiment/experiments';
import type { Dependencies } from '../context/dependencies';

/** Stores a change of an experiment's status, stopped arms and reason. */
export const recordExperiment =
  ({ store }: Dependencies) =>
  ({ experimentId, ...change }: { experimentId: number } & ExperimentChange): Promise<void> =>
    store.experiments.record(experimentId, change);
