import { DomainError } from '../../domain/base/errors';
import { isSkippable } from '../../domain/campaign/phases';
import type { PhaseKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/**
 * Commits a phase that an operator gave up, with what it had stored until then; later phases find no more than that.
 *
 * @throws DomainError `NotSkippable` when the iteration cannot go on without it, or when it is decided already
 */
export const skipPhase =
  ({ store }: Dependencies) =>
  async (key: PhaseKey): Promise<string> => {
    const { campaignId, iteration, phase } = key;
    if (!isSkippable(phase, iteration))
      throw new DomainError('NotSkippable', `iteration ${iteration} cannot go on without ${phase}: resume or abort it`);
    if (phase === 'evaluate' && (await store.policies.decisionOf(campaignId, iteration, 'target')))
      throw new DomainError('NotSkippable', `who acts after iteration ${iteration} is decided: resume the campaign`);
    await store.iterations.beginPhase(key); // what failed may have been the begin
    if (phase === 'train' || phase === 'optimize') await store.cleanup.dropUnregistered(key);
    if (phase === 'report') await store.iterations.close(key);
    await store.iterations.commitPhase(key, { skipped: 1 });
    return 'skipped';
  };
