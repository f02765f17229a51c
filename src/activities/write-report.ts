import type { IterationKey } from '../store/iterations';
import type { Services } from './services';

/** Writes the campaign's HTML report as it stands; later iterations replace it. */
export const writeReport =
  (services: Services) =>
  ({ campaignId }: IterationKey): Promise<void> =>
    services.writeReport(campaignId);
