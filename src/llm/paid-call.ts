import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../domain/errors';
import type { Store } from '../store';
import type { Spending } from '../store/budgets';
import type { ModelCall } from '../store/model-calls';
import { chatClient, type Usage } from './chat-client';
import { ModelError } from './model-error';
import { createPlaces } from './places';
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

export type ProviderLine = <Answer>(paid: PaidCall<Answer>) => Promise<Answer>;

/**
 * The calls of one provider. A call that was answered before is not made again; one that is made waits for a place
 * and for the provider's pace, reserves what it may cost, and books what it has cost. A try that ends without an answer
 * keeps its reservation, unless the server has certainly charged nothing.
 */
export function providerLine(
  { modelCalls, providers }: Pick<Store, 'modelCalls' | 'providers'>,
  provider: Provider,
): ProviderLine {
  const client = chatClient(provider);
  const inPlace = createPlaces(provider.concurrency);

  return async <Answer>(paid: PaidCall<Answer>): Promise<Answer> => {
    const found = await modelCalls.find(paid.call);
    if (found) return found.answer as Answer;
    requireFit(provider, paid);
    return inPlace(paid.signal, async () => {
      for (;;) {
        await waitForSlot(paid);
        const reservation = await modelCalls.reserve(paid.call, costOf(paid.price, paid.estimate));
        if (reservation.kind === 'answered') return reservation.answer as Answer;
        if (reservation.kind === 'reserved') return sendTry(paid, reservation.try);
        await pause(busyPauseMs, paid.signal);
      }
    });
  };

  async function waitForSlot({ estimate, signal }: PaidCall<unknown>): Promise<void> {
    const slot = await providers.takeSlot(provider.name, provider, tokensOf(estimate));
    if (slot.kind === 'slot') return pause(slot.waitMs, signal);
    const message = `provider "${provider.name}" failed ${provider.breaker.failures} times in a row: nothing is sent to it for another ${Math.ceil(slot.retryAfterMs / 1000)} s`;
    throw new ModelError('retry', message, slot.retryAfterMs, { unpaid: true });
  }

  async function sendTry<Answer>({ call, campaign, price, send }: PaidCall<Answer>, number: number): Promise<Answer> {
    const started = performance.now();
    const { answer, usage } = await send(client, `${campaign}/${call.callId}/${number}`).catch(
      async (error: unknown) => {
        if (error instanceof ModelError) await bookFailure(call, number, error);
        throw error;
      },
    );
    await providers.recordSuccess(provider.name);
    const seconds = (performance.now() - started) / 1000;
    const settlement = { answer, ...usage, usd: costOf(price, usage).usd, seconds };
    return (await modelCalls.settle(call, number, settlement)) as Answer;
  }

  async function bookFailure(call: ModelCall, number: number, error: ModelError): Promise<void> {
    if (error.unpaid) await modelCalls.release(call, number);
    if (error.kind === 'retry') await providers.recordFailure(provider.name, provider.breaker, error.retryAfterMs);
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

/** A call that is larger than a minute's tokens would wait for ever. */
function requireFit({ name, tokensPerMinute }: Provider, { estimate, call }: PaidCall<unknown>): void {
  const tokens = tokensOf(estimate);
  if (tokensPerMinute === null || tokens <= tokensPerMinute) return;
  throw new DomainError(
    'CallTooLarge',
    `${call.callId} may take ${tokens} tokens, and ${name}.tokensPerMinute in the file of COEVOLVE_LLM_PROVIDERS is ${tokensPerMinute}: raise it, run \`coevolve up\` again, then \`coevolve resume\` the campaign`,
  );
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return signal.throwIfAborted();
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
