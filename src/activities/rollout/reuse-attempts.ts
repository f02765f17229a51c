import { sha256 } from '../../files/sha256';
import { canonicalJson } from '../../domain/canonical-json';
import { trajectoryId } from '../../domain/campaign/ids';
import { readingOf } from '../../domain/rollout/reading';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';
import { isGradedByJudge } from './judge-rollout';
import type { PlannedAttempt } from './planned-attempt';
import { attemptSeed, temperatureOf } from './sampling';

/** Returns the hash of everything that determines an attempt: equal keys have equal rows. Null means that it is not shared. */
export type ContentKeys = (planned: Pick<PlannedAttempt, 'task' | 'attempt' | 'role'>) => string | null;

/**
 * Returns the content keys of a campaign's attempts. They are null without `compute.reuse`, where a repetition may differ,
 * on servers that this stack does not run, without a policy, and where the judge grades.
 */
export async function contentKeys(
  { serverVersion }: Pick<Dependencies, 'serverVersion'>,
  spec: CampaignSpec,
  nondeterminism: readonly string[] | null,
): Promise<ContentKeys> {
  const version = spec.compute.reuse && nondeterminism?.length === 0 ? await serverVersion() : null;
  if (version === null) return () => null;
  const { rollouts, environment } = spec;
  const settings = { maxTokens: rollouts.maxTokens, maxTurns: environment.maxTurns, reading: readingOf(spec) };
  return ({ task, attempt, role }) => {
    if (attempt.policyId === null || isGradedByJudge({ task, attempt })) return null;
    const sampling = { seed: attemptSeed(spec, { attempt, role }), temperature: temperatureOf(spec, attempt.purpose) };
    const played = { environment: task.environment, definition: task.definition, policyId: attempt.policyId };
    return sha256(canonicalJson({ id: trajectoryId(attempt), ...played, ...settings, ...sampling, version }));
  };
}

/** Stores the attempts that another campaign has played with equal content; returns the ones that are left to play. */
export async function reuseAttempts<T extends Omit<PlannedAttempt, 'journal'>>(
  { store }: Pick<Dependencies, 'store'>,
  { policyId, ...key }: IterationKey & { policyId: string | null },
  open: readonly T[],
): Promise<T[]> {
  const wanted = open.flatMap(({ attempt, contentKey }) =>
    contentKey === null ? [] : [{ id: trajectoryId(attempt), contentKey }],
  );
  if (policyId === null || wanted.length === 0) return [...open];
  const batch = { ...key, policyId };
  const sources = await store.reusedAttempts.listSources(batch);
  if (sources.length === 0) return [...open];
  const taken = await store.reusedAttempts.take(batch, wanted, sources);
  return open.filter(({ attempt }) => !taken.has(trajectoryId(attempt)));
}
