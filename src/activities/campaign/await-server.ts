import { databaseAddress } from '../../domain/campaign/outage';
import { outboundFetch } from '../../requests/outbound-fetch';
import type { Dependencies } from '../context/dependencies';

const timeoutMs = 10_000;

/** Statuses of a server, or of a proxy before it, that cannot serve now. */
const outageStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/**
 * Returns if the server answers now. Any answer counts, also one that wants a token: the phase that waits for it repeats its
 * own request.
 *
 * @throws Error while it does not answer; Temporal calls again
 */
export const awaitServer =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async ({ campaignId, address }: { campaignId: number; address: string }): Promise<void> => {
    if (address === databaseAddress) return void (await store.campaigns.get(campaignId));
    const ask = (send: typeof fetch) => send(address, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    const response = await ask(fetch).catch(() => ask(outboundFetch)); // a provider may lie behind the operator's proxy
    await response.body?.cancel();
    if (outageStatuses.has(response.status)) throw new Error(`${address} answered ${response.status}`);
  };
