import type { Store } from '../store';
import type { Spending } from '../store/spending/budgets';
import type { ModelCall } from '../store/spending/model-calls';
import { chatClient, type Usage } from './chat-client';
import { ModelError } from './model-error';
import { createSemaphore } from '../base/semaphore';
import { sleep } from '../base/sleep';
import { providerPace } from './provider-pace';
import type { Provider } from './providers';

export type ChatClient = ReturnType<typeof chatClient>;

/** US dollars per million tokens. */
type Price = { inputPerMillion: number; outputPerMillion: number };

export type PaidCall<Answer> = {
  call: ModelCall;
  campaign: string;
  price: Price;
  /** The most that the call is expected to take. */
  estimate: Pick<Usage, 'promptTokens' | 'completionTokens'>;
  signal: AbortSignal;
  send(client: ChatClient, requestId: string): Promise<{ answer: Answer; usage: Usage }>;
};

export type ProviderClient = <Answer>(paid: PaidCall<Answer>) => Promise<Answer>;

/**
 * The calls of one provider. A call that was answered before is not made again; one that is made waits for a place
 * and for the provider's pace, reserves what it may cost, and books what it has cost. A try that ends without an answer
 * keeps its reservation, unless the server has certainly charged nothing.
 */
export function providerClient(
  { modelCalls, providers }: Pick<Store, 'modelCalls' | 'providers'>,
  provider: Provider,
): ProviderClient {
  const client = chatClient(provider);
  const inPlace = createSemaphore(provider.concurrency);
  const pace = providerPace(providers, provider);

  return async <Answer>(paid: PaidCall<Answer>): Promise<Answer> => {
    const found = await modelCalls.find(paid.call);
    if (found) return found.answer as Answer;
    pace.requireFit(paid.call.callId, tokensOf(paid.estimate));
    return inPlace(paid.signal, async () => {
      for (;;) {
        await pace.wait(tokensOf(paid.estimate), paid.signal);
        const reservation = await modelCalls.reserve(paid.call, costOf(paid.price, paid.estimate));
        if (reservation.kind === 'answered') return reservation.answer as Answer;
        if (reservation.kind === 'reserved') return sendTry(paid, reservation.request);
        await sleep(busyPauseMs, paid.signal);
      }
    });
  };

  async function sendTry<Answer>({ call, campaign, price, send }: PaidCall<Answer>, number: number): Promise<Answer> {
    const started = performance.now();
    const { answer, usage } = await send(client, `${campaign}/${call.callId}/${number}`).catch(
      async (error: unknown) => {
        if (error instanceof ModelError) await bookFailure(call, number, error);
        throw error;
      },
    );
    await pace.recordSuccess();
    const seconds = (performance.now() - started) / 1000;
    const settlement = { answer, ...usage, usd: costOf(price, usage).usd, seconds };
    return (await modelCalls.settle(call, number, settlement)) as Answer;
  }

  async function bookFailure(call: ModelCall, number: number, error: ModelError): Promise<void> {
    if (error.notCharged) await modelCalls.release(call, number);
    await pace.recordFailure(error);
  }
}

/** Between two looks at a budget whose room other calls have reserved. */
const busyPauseMs = 500;

type Tokens = Pick<Usage, 'promptTokens' | 'completionTokens'>;

const tokensOf = ({ promptTokens, completionTokens }: Tokens): number => promptTokens + completionTokens;

const costOf = ({ inputPerMillion, outputPerMillion }: Price, tokens: Tokens): Spending => ({
  llmTokens: tokensOf(tokens),
  usd: (tokens.promptTokens * inputPerMillion + tokens.completionTokens * outputPerMillion) / 1e6,
});
