import { energyDistance, neighbourSimilarity, relativeEnergyDistance } from '../../domain/tasks/diversity';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { GoalVectors } from './embed-goals';
import type { Dependencies } from '../context/dependencies';

/**
 * Records the similarity of the tasks that an iteration admitted (SR@k) and their distance from the set dev (ED,
 * EDrel): eq. 2 to 4 of arXiv:2604.15840. An event reports a similarity of at least the collapse threshold.
 */
export async function recordDiversity(
  { store }: Dependencies,
  key: IterationKey,
  { neighbours, collapse }: CampaignSpec['admission']['diversity'],
  { encoder, vectorOf }: GoalVectors,
): Promise<void> {
  const admitted = await store.tasks.list(key.campaignId, { verdict: 'admitted', createdIteration: key.iteration });
  const heldOut = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'held-out' });
  const intents = admitted.filter(({ origin }) => origin !== 'seed').map(vectorOf);
  const targets = heldOut.filter(({ evaluationSet }) => evaluationSet === 'dev').map(vectorOf);

  const similarity = neighbourSimilarity(intents, neighbours);
  const comparable = intents.length > 0 && targets.length > 0;
  await store.admission.saveDiversity(key, {
    encoder,
    tasks: intents.length,
    neighbours,
    similarity,
    energyDistance: comparable ? energyDistance(targets, intents) : null,
    relativeDistance: comparable ? relativeEnergyDistance(targets, intents) : null,
    collapsed: similarity !== null && similarity >= collapse,
  });
}
