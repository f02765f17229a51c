import { allHandlersFinished, condition, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { TrainingRequest } from '../../activities/train/training-data';
import { profiles } from '../temporal/activity-profiles';
import { forwardProgress } from './forward-progress';
import { duration } from '../../domain/formats';

const store = proxyActivities<Activities>(profiles.store);
const trainer = proxyActivities<Activities>(profiles.train);

/** One training job: prepares its dataset, runs it, and registers its policy. Without data the active policy stays. */
export async function train(input: TrainingRequest): Promise<void> {
  const prepared = await store.prepareTraining(input);
  if (!prepared) return setCurrentDetails('No data to train on: the active policy stays.');

  const { jobKey, policyId: existingId } = prepared;
  if (existingId) {
    await store.registerPolicy({ ...input, jobKey, policyId: existingId });
    const origin = input.method === 'import' ? 'Imported policy' : 'Policy of an equal job:';
    return setCurrentDetails(`${origin} ${existingId.slice(0, 12)}`);
  }
  const work = `${input.method} on ${prepared.rows} rows`;
  setCurrentDetails(work);
  forwardProgress(input.role, work);
  const { epoch } = input;
  await trainer.submitTraining({ jobKey, epoch });
  const { policyId, seconds } = await trainer.watchTraining({ jobKey, epoch });
  await store.registerPolicy({ ...input, jobKey, policyId });
  await condition(allHandlersFinished);
  setCurrentDetails(`${work}: policy ${policyId.slice(0, 12)} in ${duration(seconds)}`);
}
