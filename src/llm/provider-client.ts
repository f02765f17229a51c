import type { Store } from '../store';
import type { Spending } from '../store/spending/budgets';
import type { ModelCall } from '../store/spending/model-calls';
import { chatClient, type Usage } from './chat-client';
import { ModelError } from './model-error';
import { createSemaphore } from '../requests/semaphore';
import { sleep } from '../requests/sleep';
import { providerLimits, type LimitStore } from './provider-limits';
import type { Provider } from './providers';

export type ChatClient = ReturnType<typeof chatClient>;

/** US dollars per million tokens. */
type Price = { inputPerMillion: number; outputPerMillion: number };

export type PaidCall<Answer> = {
  call: ModelCall;
  campaign: string;
  price: Price;
  /** Maximum expected number of tokens. */
  estimate: Pick<Usage, 'promptTokens' | 'completionTokens'>;
  signal: AbortSignal;
  send(client: ChatClient, requestId: string): Promise<{ answer: Answer; usage: Usage }>;
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

  return async <Answer>(paid: PaidCall<Answer>): Promise<Answer> => {
    const found = await modelCalls.find(paid.call);
    if (found) return found.answer as Answer;
    limits.requireFit(paid.call.callId, tokensOf(paid.estimate));
    return withSlot(paid.signal, async () => {
      for (;;) {
        await limits.wait(tokensOf(paid.estimate), paid.signal);
        const reservation = await modelCalls.reserve(paid.call, costOf(paid.price, paid.estimate));
        if (reservation.kind === 'answered') return reservation.answer as Answer;
        if (reservation.kind === 'reserved') return sendRequest(paid, reservation.request);
        await sleep(busyPauseMs, paid.signal);
      }
    });
  };

  async function sendRequest<Answer>(
    { call, campaign, price, send }: PaidCall<Answer>,
    number: number,
  ): Promise<Answer> {
    const started = performance.now();
    const { answer, usage } = await send(client, `${campaign}/${call.callId}/${number}`).catch(
      async (error: unknown) => {
        if (error instanceof ModelError) await bookFailure(call, number, error);
        throw error;
      },
    );
    await limits.recordSuccess();
    const seconds = (performance.now() - started) / 1000;
    const settlement = { answer, ...usage, usd: costOf(price, usage).usd, seconds };
    return (await modelCalls.settle(call, number, settlement)) as Answer;
  }

  async function bookFailure(call: ModelCall, number: number, error: ModelError): Promise<void> {
    if (error.notCharged) await modelCalls.release(call, number);
    await limits.recordFailure(error);
  }
}

/** Interval between checks of a budget that other calls have reserved. */
const busyPauseMs = 500;

type Tokens = Pick<Usage, 'promptTokens' | 'completionTokens'>;

const tokensOf = ({ promptTokens, completionTokens }: Tokens): number => promptTokens + completionTokens;

const costOf = ({ inputPerMillion, outputPerMillion }: Price, tokens: Tokens): Spending => ({
  llmTokens: tokensOf(tokens),
  usd: (tokens.promptTokens * inputPerMillion + tokens.completionTokens * outputPerMillion) / 1e6,
});
