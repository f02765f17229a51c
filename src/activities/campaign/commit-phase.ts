import type { Phase } from '../../domain/campaign/phases';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey, PhaseKey } from '../../store/campaign/iterations';
import { verifyPhase } from './verify-phase';
import type { Dependencies } from '../base/dependencies';

type Counts = Record<string, number>;

/**
 * Commits a phase with what the database says it did, books its cost, and returns that in a line a person reads. What is
 * committed stays as it is: who acts may have changed since.
 *
 * @throws DomainError `StateMismatch` when the database does not hold what the phase did
 */
export const commitPhase =
  (deps: Dependencies) =>
  async (key: PhaseKey): Promise<string> => {
    const committed = await deps.store.iterations.findCommitted(key);
    const counts = committed ?? (await provenCounts(deps, key));
    await deps.store.iterations.commitPhase(key, counts);
    return Object.entries(counts)
      .map(([name, count]) => `${name} ${Number.isInteger(count) ? count : count.toFixed(3)}`)
      .join(', ');
  };

async function provenCounts(deps: Dependencies, key: PhaseKey): Promise<Counts> {
  await verifyPhase(deps, key);
  return countersOf[key.phase](deps, key);
}

const played: Partial<Record<Phase, readonly Purpose[]>> = {
  rollout: ['train', 'expert'],
  optimize: ['train'],
  validate: ['validation'],
  evaluate: ['evaluation'],
};

const countersOf: Record<Phase, (deps: Dependencies, key: PhaseKey) => Promise<Counts>> = {
  plan: async ({ store }, { campaignId }) => {
    const pool = await store.tasks.list(campaignId, { verdict: 'admitted' });
    const held = pool.filter(({ split }) => split === 'held-out').length;
    return { 'train tasks': pool.length - held, 'held-out tasks': held };
  },
  rollout: attemptsByOutcome,
  async optimize(deps, key) {
    const counts = await attemptsByOutcome(deps, key);
    const { store } = deps;
    const steps = (await store.rlSteps.list(key.campaignId)).filter(({ iteration }) => iteration === key.iteration);
    return { steps: steps.length, ...counts, 'mean reward': await store.rollouts.meanReward(key) };
  },
  detect: ({ store }, { campaignId, iteration }) => store.feedbackSignals.countByKind(campaignId, iteration),
  synthesize: async ({ store }, { campaignId, iteration }) => {
    const made = await store.tasks.list(campaignId, { createdIteration: iteration });
    return { candidates: made.filter(({ origin }) => origin !== 'seed').length };
  },
  validate: async (deps, key) => {
    await attemptsByOutcome(deps, key);
    const made = await deps.store.tasks.list(key.campaignId, { createdIteration: key.iteration });
    const candidates = made.filter(({ origin }) => origin !== 'seed');
    return countBy(candidates.map(({ verdict, reason }) => reason ?? verdict));
  },
  pair: ({ store }, { campaignId, iteration }) => store.preferencePairs.countByKind(campaignId, iteration),
  train: async ({ store }, { campaignId, iteration }) => {
    const policies = (await store.policies.list(campaignId)).filter((policy) => policy.iteration === iteration);
    return countBy(policies.map(({ role }) => `${role} policies`));
  },
  evaluate: async (deps, key) => {
    await attemptsByOutcome(deps, key);
    const evaluated = (await deps.store.evaluations.list(key.campaignId)).filter(
      ({ iteration }) => iteration === key.iteration,
    );
    return Object.fromEntries(evaluated.map(({ successes, tasks }) => ['held-out success', successes / tasks]));
  },
  report: async (deps, key) => {
    await deps.store.iterations.close(key);
    return {};
  },
};

/** Counts the attempts of the phase and books their tokens and seconds. */
async function attemptsByOutcome({ store }: Dependencies, key: PhaseKey): Promise<Counts> {
  const rows = await store.trajectories.countByOutcome(key satisfies IterationKey, played[key.phase] ?? []);
  const sum = (unit: 'tokens' | 'seconds'): number => rows.reduce((total, row) => total + row[unit], 0);
  await store.ledger.settle(key, `iteration/${key.iteration}/${key.phase}`, {
    tokens: sum('tokens'),
    seconds: sum('seconds'),
  });
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

function countBy(names: readonly string[]): Counts {
  const counts: Counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
