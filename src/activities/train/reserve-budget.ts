import { estimateJob, speedKey } from '../../specification/estimate-training';
import type { JobKey } from '../../store/database/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Reserves the estimated cost of a job if GPU hours have a price and earlier jobs of its policy have a speed. A job that is
 * submitted again reserves nothing more.
 *
 * @throws DomainError `BudgetReached`
 */
export async function reserveTrainingBudget({ store }: Dependencies, run: TrainingRunRow & JobKey): Promise<void> {
  const { campaignId, method, datasetRows: rows, steps } = run;
  if (run.gpus === 0 || method === 'import' || method === 'init') return;
  const { spec } = await getCampaign({ store }, campaignId);
  if (spec.compute.pricePerGpuHour === 0) return;
  const speed = await store.measuredSpeeds.findTraining(speedKey(spec, true));
  await store.ledger.reserveTraining(run, speed && estimateJob(spec, { method, rows, steps }, speed.median));
}
