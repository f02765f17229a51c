import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/** Writes the campaign's current HTML report; later iterations replace it. */
export const writeReport =
  (deps: Dependencies) =>
  ({ campaignId }: IterationKey): Promise<void> =>
    deps.writeReport(campaignId);
