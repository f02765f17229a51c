import { servedBy, type ServedBy } from '../artifacts/served-policy';
import type { ArtifactStore } from '../artifacts/artifact-store';
import { DomainError } from '../domain/errors';
import type { Store } from '../store';
import { chatClient } from './chat-client';
import { ModelError } from './model-error';
import { createPlaces } from './places';
import type { PolicyClient, PolicyService, SampledAction, SampleRequest } from './policy-client';
import { providerPace } from './provider-pace';
import { providerRoles } from './provider-roles';
import type { Provider, Providers } from './providers';
import { estimatePrompt } from './token-estimate';

export type PolicyPlaces = {
  /** Serves the policies whose weights are here. */
  server: PolicyClient;
  providers: Providers;
  pace: Store['providers'];
  artifacts: ArtifactStore;
};

/**
 * Every policy at its place: what a provider serves is sampled there, in its pace and behind its breaker, and needs no
 * loading; everything else is the policy server's.
 */
export function policyRouter({ server, providers, pace, artifacts }: PolicyPlaces): PolicyService {
  const lines = new Map([...providers].map(([name, provider]) => [name, sampler(pace, provider)]));
  const places = new Map<string, ServedBy | undefined>(); // a policy's manifest never changes

  async function placeOf(policyId: string): Promise<ServedBy | undefined> {
    if (!places.has(policyId)) places.set(policyId, await servedBy(artifacts, policyId));
    return places.get(policyId);
  }

  return {
    ...server,

    async sample(request) {
      const place = await placeOf(request.policyId);
      if (!place) return server.sample(request);
      const sample = lines.get(place.provider);
      if (!sample) throw unknownProvider(request.policyId, place);
      return sample(place.model, request);
    },

    async load(...policy) {
      if (!(await placeOf(policy[0]))) await server.load(...policy);
    },
  };
}

type Sampler = (model: string, request: SampleRequest) => Promise<SampledAction>;

/** One action of a provider's model: text, and how many tokens the provider counted. */
function sampler(store: Store['providers'], provider: Provider): Sampler {
  const client = chatClient(provider);
  const pace = providerPace(store, provider);
  const inPlace = createPlaces(provider.concurrency);

  return async (model, { policyId, messages: conversation, seed, temperature, maxTokens, signal }) => {
    const messages = providerRoles(conversation);
    const tokens = estimatePrompt(messages) + maxTokens;
    pace.requireFit(`an action of policy ${policyId.slice(0, 12)}`, tokens);
    return inPlace(signal, async () => {
      await pace.wait(tokens, signal);
      const requestId = `policy/${policyId}/${seed}`;
      const answer = await client
        .chat({ model, messages, temperature, seed, maxTokens, requestId, signal })
        .catch(async (error: unknown) => {
          if (error instanceof ModelError) await pace.recordFailure(error);
          throw error;
        });
      await pace.recordSuccess();
      return toAction(answer, model);
    });
  };
}

/** A refusal is no action. An answer that was cut off before the provider read the prompt found no room for it. */
function toAction({ reply, usage }: Awaited<ReturnType<ReturnType<typeof chatClient>['chat']>>, model: string) {
  if (reply.kind === 'cut-off' && usage.promptTokens === 0)
    throw new ModelError('context-full', `the conversation no longer fits the context of ${model}`);
  const { promptTokens, completionTokens } = usage;
  return {
    content: reply.kind === 'refused' ? '' : reply.text,
    finishReason: { text: 'stop', 'cut-off': 'length', refused: 'content_filter' }[reply.kind],
    ...{ promptTokenIds: null, tokenIds: null, logprobs: null, usage: { promptTokens, completionTokens } },
  };
}

const unknownProvider = (policyId: string, { provider, model }: ServedBy): DomainError =>
  new DomainError(
    'UnknownProvider',
    `policy ${policyId.slice(0, 12)} is "${model}" of the provider "${provider}", which the file of COEVOLVE_LLM_PROVIDERS does not hold: add it, run \`coevolve up\` again, then \`coevolve resume\` the campaign`,
  );
