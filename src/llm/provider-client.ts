import type { Store } from '../store';
import type { Spending } from '../store/spending/budgets';
import type { ModelCall } from '../store/spending/model-calls';
import { answerTimes } from './answer-time';
import { chatClient, type Usage } from './chat-client';
import { ModelError } from './model-error';
import { createSemaphore } from '../requests/semaphore';
import { sleep } from '../requests/sleep';
import type { Provider } from './providers';
import { DomainError } from '../domain/errors';

export type ChatClient = ReturnType<typeof chatClient>;

/** `timeoutSeconds`: for one whole answer. */
type SentCall = { requestId: string; timeoutSeconds: number };

/** US dollars per million tokens. */
type Price = { inputPerMillion: number; outputPerMillion: number };

export type PaidCall<Answer> = {
  call: Omit<ModelCall, 'timeoutSeconds'>;
  campaign: string;
  price: Price;
  /** Maximum expected number of tokens. */
  estimate: Pick<Usage, 'promptTokens' | 'completionTokens'>;
  signal: AbortSignal;
  send(client: ChatClient, sent: SentCall): Promise<{ answer: Answer; usage: Usage }>;
};

/** Calls with their answers and costs, and the rate limits of providers. */
export type CallStore = {
  modelCalls: Pick<Store['modelCalls'], 'find' | 'reserve' | 'settle' | 'release'>;
  providers: LimitStore;
};

export type ProviderClient = <Answer>(paid: PaidCall<Answer>) => Promise<Answer>;

/**
 * Creates the client for calls to one provider. A stored answer is returned without a request. Otherwise the call waits
 * for a free slot and for the rate limit, reserves its maximum cost, and books its actual cost. A request without a
 * response keeps its reservation, unless the server has certainly charged nothing.
 */
export function providerClient({ modelCalls, providers }: CallStore, provider: Provider): ProviderClient {
  const client = chatClient(provider);
  const withSlot = createSemaphore(provider.concurrency);
  const limits = providerLimits(providers, provider);
  const times = answerTimes();

  return async <Answer>(paid: PaidCall<Answer>): Promise<Answer> => {
    const found = await modelCalls.find(paid.call);
    if (found) return found.answer as Answer;
    limits.requireFit(paid.call.callId, tokensOf(paid.estimate));
    return withSlot(paid.signal, async () => {
      for (;;) {
        const startAtMs = await limits.wait(tokensOf(paid.estimate), paid.signal);
        const call = { ...paid.call, timeoutSeconds: timeoutOf(paid.estimate.completionTokens) };
        const reservation = await modelCalls.reserve(call, costOf(paid.price, paid.estimate));
        if (reservation.kind === 'answered') return reservation.answer as Answer;
        if (reservation.kind === 'reserved')
          return sendRequest({ ...paid, call }, { number: reservation.request, startAtMs });
        await sleep(busyPauseMs, paid.signal);
      }
    });
  };

  async function sendRequest<Answer>(
    { call, campaign, price, send }: Sending<Answer>,
    { number, startAtMs }: Reserved,
  ): Promise<Answer> {
    const started = performance.now();
    const secondsSince = (): number => (performance.now() - started) / 1000;
    const sent = { requestId: `${campaign}/${call.callId}/${number}`, timeoutSeconds: call.timeoutSeconds };
    const { answer, usage } = await send(client, sent).catch(async (error: unknown) => {
      if (error instanceof ModelError) {
        if (secondsSince() >= call.timeoutSeconds) times.timedOut(call.timeoutSeconds);
        if (error.notCharged) await modelCalls.release(call, number);
        await limits.recordFailure(error, startAtMs);
      }
      throw error;
    });
    await limits.recordSuccess();
    const seconds = secondsSince();
    times.answered(usage.completionTokens, seconds);
    const settlement = { answer, ...usage, usd: costOf(price, usage).usd, seconds };
    return (await modelCalls.settle(call, number, settlement)) as Answer;
  }

  function timeoutOf(tokens: number): number {
    return provider.timeoutSeconds ?? times.timeoutSeconds(tokens);
  }
}

type Sending<Answer> = PaidCall<Answer> & { call: ModelCall };
type Reserved = { number: number; startAtMs: number };

/** Interval between checks of a budget that other calls have reserved. */
const busyPauseMs = 500;

type Tokens = Pick<Usage, 'promptTokens' | 'completionTokens'>;

const tokensOf = ({ promptTokens, completionTokens }: Tokens): number => promptTokens + completionTokens;

const costOf = ({ inputPerMillion, outputPerMillion }: Price, tokens: Tokens): Spending => ({
  llmTokens: tokensOf(tokens),
  usd: (tokens.promptTokens * inputPerMillion + tokens.completionTokens * outputPerMillion) / 1e6,
});

type LimitStore = Pick<Store['providers'], 'takeSlot' | 'recordSuccess' | 'recordFailure'>;

/** Rate limits and circuit breaker of a provider, shared by all workers. */
function providerLimits(store: LimitStore, provider: Provider) {
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

    /**
     * Waits until a call of `tokens` tokens may be sent, and returns the time of its slot in ms since 1970.
     *
     * @throws ModelError while the breaker is open
     */
    async wait(tokens: number, signal: AbortSignal): Promise<number> {
      const slot = await store.takeSlot(provider.name, provider, tokens);
      if (slot.kind === 'slot') {
        await sleep(slot.waitMs, signal);
        return slot.startAtMs;
      }
      const message =
        `provider "${provider.name}" failed ${provider.breaker.failures} times in a row: no requests are sent to it for ` +
        `another ${Math.ceil(slot.retryAfterMs / 1000)} s${lastFailure === null ? '' : `; its last failure: ${lastFailure}`}`;
      throw new ModelError('unavailable', message, {
        retryAfterMs: slot.retryAfterMs,
        notCharged: true,
        address: provider.url,
      });
    },

    recordSuccess: (): Promise<void> => store.recordSuccess(provider.name),

    /** Counts only retryable failures: a rejected request is not the provider's fault. */
    async recordFailure({ kind, message, retryAfterMs }: ModelError, startAtMs: number): Promise<void> {
      if (kind !== 'unavailable') return;
      lastFailure = message;
      await store.recordFailure(provider.name, provider.breaker, { startAtMs, retryAfterMs });
    },
  };
}
