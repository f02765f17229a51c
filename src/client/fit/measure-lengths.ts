import { artifactStore } from '../../artifacts/artifact-store';
import { findModel } from '../../artifacts/imported-models';
import type { Config } from '../../config';
import { canonicalJson } from '../../domain/canonical-json';
import type { RowLength } from '../../domain/training/row-lengths';
import { EnvironmentError } from '../../envs/contract/environment-error';
import { defaultRetryLimits } from '../../envs/episode/retry-when-unavailable';
import { playReferenceActions, type ReferenceTrajectory } from '../../envs/experts/reference-trajectories';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { MeasuredLengths } from '../../specification/estimate-training';
import { countRowTokens } from './count-row-tokens';

/** Reference episodes that are played: a slow engine has played the first two when the time is over. */
const samples = [2, 20];
const timeoutMs = 20_000;
/** The same episodes for every spec, so that all campaigns on an environment get the same defaults. */
const seed = 1;

/**
 * Measured on intercode-sql: characters per token of the embedded policy's vocabulary, trained on the same texts, and of
 * SmolLM2's; tokens that a chat template adds to a message. Used where the policy's tokenizer is not here.
 */
const density = { scratch: 2.9, imported: 3.3, stored: 3.3, provider: 3.3 };
const tokensPerMessage = 5;

type PolicySource = CampaignSpec['policy']['source'];

type Measuring = Pick<Config, 'environment' | 'python' | 'projectRoot' | 'artifacts'>;

/** Of this process, by what determines them. */
const known = new Map<string, Promise<MeasuredLengths | null>>();

/**
 * Plays reference actions of train tasks of a spec's environment and returns the lengths of these trajectories in the tokens
 * of its policy; null without a server of ours, without reference actions, or if it takes longer than 20 s.
 */
export async function measureLengths(config: Measuring, spec: CampaignSpec): Promise<MeasuredLengths | null> {
  const { name, options, form } = spec.environment;
  const { source, model, functions } = spec.policy;
  const { vocabularySize } = spec.training.init;
  const { url } = config.environment;
  const key = canonicalJson([
    url,
    name,
    options,
    form,
    source,
    model,
    functions,
    vocabularySize,
    spec.rollouts.thinking,
  ]);
  const found = known.get(key);
  if (found) return found;
  const measured = measure(config, spec);
  known.set(key, measured);
  const lengths = await measured.catch((error: unknown) => {
    known.delete(key);
    throw error;
  });
  if (lengths === null) known.delete(key); // a later call may succeed
  return lengths;
}

async function measure(config: Measuring, spec: CampaignSpec): Promise<MeasuredLengths | null> {
  const played = await play(config, spec);
  if (played.length === 0) return null;
  const artifacts = artifactStore(config.artifacts);
  const { source, model: name } = spec.policy;
  const model = name === null ? undefined : await findModel(artifacts, name);
  const isHere = source === 'scratch' || model !== undefined;
  const policyPath = model ? artifacts.policyPath(model.policyId) : null;
  const rows = isHere ? await countRowTokens(config, spec, policyPath, played) : null;
  return lengthsOf(rows, played, source);
}

async function play({ environment }: Measuring, spec: CampaignSpec): Promise<ReferenceTrajectory[]> {
  const { url, token } = environment;
  if (!url) return [];
  const { name, options, form } = spec.environment;
  const signal = AbortSignal.timeout(timeoutMs);
  const limits = { ...defaultRetryLimits, unreachableMs: 0 }; // the check of the spec has waited for it
  let played: ReferenceTrajectory[] = [];
  try {
    for (const count of samples) {
      const request = { split: 'train', count, seed, options, form } as const;
      const more = await playReferenceActions({ url, token, timeoutMs }, name, request, { signal, limits });
      if (more.length > played.length) played = more;
    }
  } catch (error) {
    if (!(error instanceof EnvironmentError) && !signal.aborted) throw error;
  }
  return played;
}

/** Reckons the tokens of a trajectory from its actions and all its characters. */
export const tokensOf = (source: PolicySource, actions: number, characters: number): number =>
  Math.round(characters / density[source] + tokensPerMessage * (2 * actions + 1));

function lengthsOf(
  rows: readonly RowLength[] | null,
  played: readonly ReferenceTrajectory[],
  source: PolicySource,
): MeasuredLengths {
  const tokens = rows
    ? rows.map((row) => row.tokens)
    : played.map(({ turns, ...one }) => tokensOf(source, turns, one.characters + one.function_characters));
  const mean = tokens.reduce((sum, count) => sum + count, 0) / tokens.length;
  const sorted = tokens.toSorted((a, b) => a - b);
  const [min, median, max] = [0, tokens.length >> 1, tokens.length - 1].map((n) => sorted[n]!) as [
    number,
    number,
    number,
  ];
  const variance = tokens.reduce((sum, count) => sum + (count - mean) ** 2, 0) / Math.max(1, tokens.length - 1);
  const spread = 1 + (2 * Math.sqrt(variance / tokens.length)) / mean;
  const basis = rows ? "counted with the policy's tokenizer" : `at ${density[source]} characters a token`;
  const limits = played.flatMap((one) => one.max_turns ?? []);
  const turnLimits = limits.length === played.length ? limits : null;
  return { trajectories: tokens.length, mean: Math.round(mean), min, median, max, spread, basis, rows, turnLimits };
}
