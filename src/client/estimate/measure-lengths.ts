import type { Config } from '../../config';
import { EnvironmentError } from '../../envs/contract/environment-error';
import { defaultRetryLimits } from '../../envs/episode/retry-when-unavailable';
import { playReferenceActions, type ReferenceTrajectory } from '../../envs/experts/reference-trajectories';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { MeasuredLengths } from '../../specification/estimate-training';
import { deriveSeed } from '../../domain/random/seed-tree';

/** Reference episodes that are played for an estimate; one request of the server. */
const sample = 10;
const timeoutMs = 20_000;

/**
 * Measured on intercode-sql: characters per token of the embedded policy's vocabulary, trained on the same texts, and of
 * SmolLM2's; tokens that a chat template adds to a message. In the warehouse, with its few words, the embedded policy has 3.6
 * characters per token, so the estimate says what it assumes.
 */
const density = { scratch: 2.9, imported: 3.3, stored: 3.3 };
const tokensPerMessage = 5;

/**
 * Plays reference actions of a spec's train tasks and returns the lengths of these trajectories; null without a server of
 * ours, without reference actions, or if it takes longer than 20 s.
 */
export async function measureLengths({ environment }: Config, spec: CampaignSpec): Promise<MeasuredLengths | null> {
  const { url, token } = environment;
  if (!url) return null;
  const { name, options, form } = spec.environment;
  const request = { split: 'train', count: sample, seed: deriveSeed(spec.seed, 'tasks'), options, form } as const;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const played = await playReferenceActions({ url, token, timeoutMs }, name, request, {
      signal,
      limits: { ...defaultRetryLimits, unreachableMs: 0 }, // the check of the spec has waited for it
    });
    return lengthsOf(played, density[spec.policy.source]);
  } catch (error) {
    if (error instanceof EnvironmentError || signal.aborted) return null;
    throw error;
  }
}

function lengthsOf(played: readonly ReferenceTrajectory[], charactersPerToken: number): MeasuredLengths | null {
  const tokens = played.map(({ turns, ...one }) =>
    Math.round((one.characters + one.function_characters) / charactersPerToken + tokensPerMessage * (2 * turns + 1)),
  );
  if (tokens.length === 0) return null;
  const mean = tokens.reduce((sum, count) => sum + count, 0) / tokens.length;
  const [min, max] = [Math.min(...tokens), Math.max(...tokens)];
  const variance = tokens.reduce((sum, count) => sum + (count - mean) ** 2, 0) / Math.max(1, tokens.length - 1);
  const spread = 1 + (2 * Math.sqrt(variance / tokens.length)) / mean;
  return { trajectories: tokens.length, mean: Math.round(mean), min, max, spread, charactersPerToken };
}
