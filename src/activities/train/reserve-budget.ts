import { getModel } from '../../artifacts/imported-models';
import { estimateJob } from '../../specification/estimate-training';
import type { JobKey } from '../../store/database/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Reserves the estimated cost of a job if GPU hours have a price. A job that is submitted again reserves nothing more.
 *
 * @throws DomainError `BudgetReached`
 */
export async function reserveTrainingBudget(
  { store, artifacts }: Dependencies,
  run: TrainingRunRow & JobKey,
): Promise<void> {
  const { campaignId, method, datasetRows: rows, steps } = run;
  if (run.gpus === 0 || method === 'import' || method === 'init') return;
  const { spec } = await getCampaign({ store }, campaignId);
  if (spec.compute.pricePerGpuHour === 0) return;
  const { source, model } = spec.policy;
  const parameters = source === 'imported' ? (await getModel(artifacts, model!)).parameters : null;
  await store.ledger.reserveTraining(run, estimateJob(spec, { method, rows, steps }, parameters));
}
