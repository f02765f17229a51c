import { sleep } from '../requests/sleep';
import { DomainError } from '../domain/errors';
import type { Store } from '../store';
import { ModelError } from './model-error';
import type { Provider } from './providers';

export type LimitStore = Pick<Store['providers'], 'takeSlot' | 'recordSuccess' | 'recordFailure'>;

/** Rate limits and circuit breaker of a provider, shared by all workers. */
export function providerLimits(store: LimitStore, provider: Provider) {
  let lastFailure: string | null = null; // of this process: the others of a breaker may be another worker's

  return {
    /**
     * Rejects a call that is larger than `tokensPerMinute`, because it would wait forever.
     *
     * @throws DomainError `CallTooLarge`
     */
    requireFit(callId: string, tokens: number): void {
      const { name, tokensPerMinute } = provider;
      if (tokensPerMinute === null || tokens <= tokensPerMinute) return;
      throw new DomainError(
        'CallTooLarge',
        `${callId} may need ${tokens} tokens, but ${name}.tokensPerMinute in the file of COEVOLVE_LLM_PROVIDERS is ${tokensPerMinute}; raise it, run \`coevolve up\` again, then \`coevolve resume\` the campaign`,
      );
    },

    /** Waits until a call of `tokens` tokens may be sent. @throws ModelError while the breaker is open */
    async wait(tokens: number, signal: AbortSignal): Promise<void> {
      const slot = await store.takeSlot(provider.name, provider, tokens);
      if (slot.kind === 'slot') return sleep(slot.waitMs, signal);
      const message =
        `provider "${provider.name}" failed ${provider.breaker.failures} times in a row: no requests are sent to it for ` +
        `another ${Math.ceil(slot.retryAfterMs / 1000)} s${lastFailure === null ? '' : `; its last failure: ${lastFailure}`}`;
      throw new ModelError('unavailable', message, { retryAfterMs: slot.retryAfterMs, notCharged: true });
    },

    recordSuccess: (): Promise<void> => store.recordSuccess(provider.name),

    /** Counts only retryable failures: a rejected request is not the provider's fault. */
    async recordFailure({ kind, message, retryAfterMs }: ModelError): Promise<void> {
      if (kind !== 'unavailable') return;
      lastFailure = message;
      await store.recordFailure(provider.name, provider.breaker, retryAfterMs);
    },
  };
}
