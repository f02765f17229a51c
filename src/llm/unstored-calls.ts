import type { ModelPurpose } from '../domain/campaign/iteration-plan';
import type { CallStore } from './provider-client';

export type CallTotals = { calls: number; promptTokens: number; completionTokens: number; seconds: number };

/**
 * Store for model calls outside of campaigns: it keeps no answer and has no budget. It spaces the calls of this process by
 * the provider's rate limits, and after a Retry-After sends none for that time; other processes are not considered.
 * `totals` counts the answered requests of each purpose.
 */
export function unstoredCalls(): { store: CallStore; totals: Map<ModelPurpose, CallTotals> } {
  const totals = new Map<ModelPurpose, CallTotals>();
  const modelCalls: CallStore['modelCalls'] = {
    find: () => Promise.resolve(undefined),
    reserve: () => Promise.resolve({ kind: 'reserved', request: 1 }),
    settle({ purpose }, _, { answer, promptTokens, completionTokens, seconds }) {
      const before = totals.get(purpose) ?? { calls: 0, promptTokens: 0, completionTokens: 0, seconds: 0 };
      totals.set(purpose, {
        calls: before.calls + 1,
        promptTokens: before.promptTokens + promptTokens,
        completionTokens: before.completionTokens + completionTokens,
        seconds: before.seconds + seconds,
      });
      return Promise.resolve(answer);
    },
    release: () => Promise.resolve(),
  };
  return { store: { modelCalls, providers: pacing() }, totals };
}

function pacing(): CallStore['providers'] {
  let nextStartMs = 0;
  return {
    takeSlot(_, { requestsPerSecond, tokensPerMinute }, tokens) {
      const startAtMs = Math.max(Date.now(), nextStartMs);
      const perRequestMs = requestsPerSecond === null ? 0 : 1000 / requestsPerSecond;
      const forTokensMs = tokensPerMinute === null ? 0 : (tokens * 60_000) / tokensPerMinute;
      nextStartMs = startAtMs + Math.max(perRequestMs, forTokensMs);
      return Promise.resolve({ kind: 'slot', waitMs: Math.max(0, startAtMs - Date.now()), startAtMs });
    },
    recordSuccess: () => Promise.resolve(),
    recordFailure(_, __, { retryAfterMs = 0 }) {
      nextStartMs = Math.max(nextStartMs, Date.now() + retryAfterMs);
      return Promise.resolve();
    },
  };
}
