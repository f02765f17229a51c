import { resolveSpec } from '../../../src/specification/read-spec';
import type { CampaignSpec } from '../../../src/specification/campaign-spec';
import type { Provider, Providers } from '../../../src/llm/providers';

/** Returns the provider `scripted`, without rate limits and with a circuit breaker that rarely opens. */
export const scriptedProvider = (url: string, changes: Partial<Provider> = {}): Provider => ({
  name: 'scripted',
  url,
  key: () => 'secret-key',
  requestsPerSecond: null,
  tokensPerMinute: null,
  timeoutSeconds: 30,
  breaker: { failures: 1000, coolDownSeconds: 30 },
  concurrency: 100,
  tokenLimitField: 'max_tokens',
  headers: () => ({}),
  ...changes,
});

export const scriptedProviders = (url: string, changes: Partial<Provider> = {}): Providers =>
  new Map([['scripted', scriptedProvider(url, changes)]]);

const price = { inputPerMillion: 1, outputPerMillion: 10 };

/** Spec section that uses the provider `scripted` for every purpose, at $1 and $10 per million tokens. */
export const scriptedModels = {
  models: {
    explorer: { provider: 'scripted', model: 'scripted-chat', price, maxTokens: 100 },
    embedding: { provider: 'scripted', model: 'scripted-embedding', price: { ...price, outputPerMillion: 0 } },
  },
};

/** Returns a spec with these models. */
export const specWithModels = (name: string, changes: Record<string, unknown> = {}): CampaignSpec =>
  resolveSpec(
    {
      name,
      seed: 7,
      environment: { name: 'intercode-sql' },
      recipe: 'coevolve',
      llm: scriptedModels,
      ...changes,
    },
    'the test',
  );
