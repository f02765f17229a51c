import { allHandlersFinished, condition, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { RecipeJob } from '../../domain/campaign/recipe';
import { profiles } from '../campaign/activity-profiles';
import { forwardProgress } from './forward-progress';

export type TrainInput = {
  campaignId: number;
  iteration: number;
  epoch: number;
  role: 'base' | 'target' | 'failure' | 'positive';
  method: 'import' | 'init' | RecipeJob['method'];
  data: RecipeJob['data'];
  from: 'base' | 'head';
};

const store = proxyActivities<Activities>(profiles.store);
const trainer = proxyActivities<Activities>(profiles.train);

/** One training job: its dataset, the job itself, and the policy that it leaves. A job without data trains nothing, an import neither. */
export async function train(input: TrainInput): Promise<void> {
  const prepared = await store.prepareTraining(input);
  if (!prepared) return setCurrentDetails('Nothing to train on: the acting policy stays.');

  if (prepared.policyId) {
    const { jobKey, policyId } = prepared;
    await store.registerPolicy({ ...input, jobKey, policyId });
    return setCurrentDetails(`Taken over as it is: policy ${policyId.slice(0, 12)}`);
  }
  const work = `${input.method} on ${prepared.rows} rows`;
  setCurrentDetails(work);
  forwardProgress(input.role, work);
  const { jobKey } = prepared;
  const { epoch } = input;
  await trainer.submitTraining({ jobKey, epoch });
  const { policyId, seconds } = await trainer.watchTraining({ jobKey, epoch });
  await store.registerPolicy({ ...input, jobKey, policyId });
  await condition(allHandlersFinished);
  setCurrentDetails(`${work} in ${seconds.toFixed(1)} s gave policy ${policyId.slice(0, 12)}`);
}
