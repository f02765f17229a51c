import { getExternalWorkflowHandle, log } from '@temporalio/workflow';
import { controlSignal, type Control } from '../messages';

/** Hands an order down. A child that ends at that moment needs none: its end must not fail who told it. */
export async function sendControl(childId: string, order: Control): Promise<void> {
  try {
    await getExternalWorkflowHandle(childId).signal(controlSignal, order);
  } catch (error) {
    log.info('an order came too late', { childId, ...order, error: String(error) });
  }
}
