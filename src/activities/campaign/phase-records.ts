import { DomainError } from '../../domain/errors';
import { trainingJobKey } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { Phase } from '../../domain/campaign/phases';
import { isTrusted } from '../../domain/evaluation/judge-calibration';
import { isMeasurement, type Purpose } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { attemptRange } from '../../specification/iteration-plan';
import type { PhaseKey } from '../../store/campaign/iterations';
import type { PlannedAttempts } from '../../store/campaign/phase-checks';
import type { Dependencies } from '../context/dependencies';
import { choosePolicies } from '../rollout/choose-policies';
import { trainedRoles } from './trained-roles';

export type PhaseContext = {
  deps: Dependencies;
  key: PhaseKey;
  name: string;
  spec: CampaignSpec;
  plan: Omit<IterationPlan, 'epoch'>;
};

export type Counts = Record<string, number>;

/** Checks and counts of the rows of a phase. The work of the phase is scheduled by src/workflows/iteration/iteration.ts. */
type PhaseRecords = {
  /** Returns the missing part of the phase's rows in words; null when the rows are complete. */
  verify(context: PhaseContext): Promise<string | null>;
  /** Returns the counts that are committed and shown to operators, and books the cost. */
  count(context: PhaseContext): Promise<Counts>;
  /** Called before a phase is committed as skipped. */
  beforeSkip?(context: PhaseContext): Promise<void>;
};

export const phaseRecords: Record<Phase, PhaseRecords> = {
  plan: {
    async verify({ deps: { store }, key }) {
      const isPlanned = key.iteration === 0 || (await store.tasks.countPlanned(key, 'train')) > 0;
      return isPlanned && (await store.pools.hasTasks(key.campaignId)) ? null : 'its plan';
    },
    async count({ deps: { store }, key }) {
      const { train, heldOut } = await store.pools.countBySplit(key.campaignId);
      return { 'train tasks': train, 'held-out tasks': heldOut };
    },
  },
  rollout: {
    verify: (context) =>
      context.key.iteration === 0 ? missingReferences(context, 'expert') : missingRollouts(context, 'train'),
    count: (context) => countAttempts(context, ['train', 'expert']),
  },
  optimize: {
    async verify(context) {
      const { deps, key, name, plan } = context;
      if (!plan.rlJob) return null;
      const { role, steps } = plan.rlJob;
      for (let step = 1; step <= steps; step++) {
        const missing = await missingRollouts(context, 'train', step);
        if (missing !== null) return missing;
      }
      const jobKey = trainingJobKey(name, key.iteration, role);
      if (!(await deps.store.rlSteps.findPolicy(jobKey, steps))) return `the policy of step ${steps}`;
      return missingPolicies(context);
    },
    async count(context) {
      const { deps, key } = context;
      const made = (await deps.store.rlSteps.list(key.campaignId)).filter(inIteration(key));
      const skipped = made.filter(({ metrics }) => metrics?.['updates'] === 0).length;
      const steps = made.length;
      const attempts = await countAttempts(context, ['train']);
      return {
        steps,
        ...(skipped > 0 ? { 'without an update': skipped } : {}),
        ...attempts,
        'mean reward': await deps.store.rollouts.meanReward(key),
        ...(await countLost(deps, key)),
      };
    },
    beforeSkip: ({ deps, key }) => deps.store.cleanup.failUnregisteredRuns(key),
  },
  detect: {
    verify: (context) => missingWork(context, ['signals']),
    count: ({ deps, key }) => deps.store.feedbackSignals.countByKind(key.campaignId, key.iteration),
  },
  synthesize: {
    verify: async (context) =>
      (await missingExplorations(context)) ?? missingWork(context, [...context.plan.aims, 'validation plan']),
    count: async (context) => ({ candidates: (await listCandidates(context)).length }),
  },
  validate: {
    verify: async (context) => (await missingExplorations(context)) ?? missingReferences(context, 'validation'), // a refill explores, too
    async count(context) {
      await countAttempts(context, ['validation', 'solving']);
      const verdicts = tally((await listCandidates(context)).map(({ verdict, reason }) => reason ?? verdict));
      return { ...verdicts, ...(await countAgreement(context)) };
    },
  },
  pair: {
    verify: (context) => missingWork(context, ['pairs']),
    count: ({ deps, key }) => deps.store.preferencePairs.countByKind(key.campaignId, key.iteration),
  },
  train: {
    async verify(context) {
      const { deps, key, name } = context;
      for (const role of await trainedRoles(context))
        if (!(await deps.store.trainingRuns.find(trainingJobKey(name, key.iteration, role))))
          return `the training run of the ${role} policy`;
      return missingPolicies(context);
    },
    async count({ deps, key, spec }) {
      const { policies, demonstrations } = deps.store;
      const made = (await policies.list(key.campaignId)).filter(inIteration(key));
      const experts = key.iteration === 0 ? await demonstrations.listExperts(key.campaignId, 'seed') : [];
      const failed = experts.filter((expert) => expert.failed).length;
      const fate = spec.environment.failedExperts === 'keep' ? 'trained on' : 'left out';
      return {
        ...tally(made.map(({ role }) => `${role} policies`)),
        ...(failed > 0 ? { [`experts of score 0 ${fate}`]: failed } : {}),
        ...(await countLost(deps, key)),
      };
    },
    beforeSkip: ({ deps, key }) => deps.store.cleanup.failUnregisteredRuns(key),
  },
  evaluate: {
    async verify(context) {
      const { deps, key, name } = context;
      if ((await deps.store.tasks.countPlanned(key, 'test')) > 0) {
        const missing = await missingRollouts(context, 'test');
        if (missing !== null) return missing;
        if (!(await isTested(context))) return 'its scores on the reported sets';
      }
      const run = await deps.store.trainingRuns.find(trainingJobKey(name, key.iteration, 'target'));
      if (!run?.policyId || (await deps.store.tasks.countPlanned(key, 'evaluation')) === 0) return null;
      const evaluated = (await deps.store.evaluations.list(key.campaignId)).filter(inIteration(key));
      if (!evaluated.some(({ policyId }) => policyId === run.policyId)) return 'its evaluation';
      return missingRollouts(context, 'evaluation');
    },
    async count(context) {
      const { deps, key } = context;
      await countAttempts(context, ['evaluation', 'test']);
      const { evaluations } = deps.store;
      const onDev = (await evaluations.list(key.campaignId)).filter(inIteration(key));
      const reported = (await evaluations.listReported(key.campaignId)).filter(inIteration(key));
      return Object.fromEntries(
        [...onDev, ...reported].map(({ evaluationSet, successes, tasks }) => [
          `${evaluationSet} success`,
          tasks === 0 ? 0 : successes / tasks,
        ]),
      );
    },
    async beforeSkip({ deps: { store }, key: { campaignId, iteration } }) {
      if (await store.policies.findDecision(campaignId, iteration, 'target'))
        throw new DomainError('NotSkippable', `iteration ${iteration} has decided on its policy: resume the campaign`);
    },
  },
  report: {
    verify: () => Promise.resolve(null),
    async count({ deps, key }) {
      await deps.store.iterations.close(key);
      return {};
    },
    beforeSkip: ({ deps, key }) => deps.store.iterations.close(key),
  },
};

/** The agreement of the judge in the calibration of an iteration that has one. */
async function countAgreement({ deps, key, spec }: PhaseContext): Promise<Counts> {
  const made = (await deps.store.judgeCalibrations.list(key.campaignId)).findLast(inIteration(key));
  if (!made || made.agreement.rate === null) return {};
  const name = isTrusted(made, spec.judge.minimumAgreement) ? 'judge agreement' : 'agreement of an untrusted judge';
  return { [name]: made.agreement.rate };
}

/** Counts the actions that the jobs of an iteration lost to their row length, if they lost any. */
async function countLost({ store }: Dependencies, key: PhaseKey): Promise<Counts> {
  const losses = (await store.trainingRuns.listLosses(key.campaignId)).filter(inIteration(key));
  const lost = losses.reduce((sum, { actionsLost }) => sum + actionsLost, 0);
  return lost > 0 ? { 'actions lost': lost } : {};
}

const inIteration =
  (key: PhaseKey) =>
  ({ iteration }: { iteration: number }): boolean =>
    iteration === key.iteration;

async function missingWork({ deps, key }: PhaseContext, parts: readonly string[]): Promise<string | null> {
  const missing = await deps.store.phaseChecks.listMissingWork(key, key.phase, parts);
  return missing.length === 0 ? null : `its work: ${missing.join(', ')}`;
}

async function isTested({ deps: { store }, key }: PhaseContext): Promise<boolean> {
  return (await store.evaluations.listReported(key.campaignId)).some(inIteration(key));
}

async function missingExplorations({ deps, key, plan }: PhaseContext): Promise<string | null> {
  const unexplored = plan.providers ? await deps.store.phaseChecks.countUnexplored(key, plan.explorationRounds) : 0;
  return unexplored > 0 ? `${unexplored} of its explorations` : null;
}

const missingReferences = (context: PhaseContext, purpose: Purpose): Promise<string | null> =>
  missingAttempts(context, { purpose, policyIds: [null], step: 0, from: 0, to: 1 });

async function missingRollouts(context: PhaseContext, purpose: Purpose, step = 0): Promise<string | null> {
  const { deps, key, spec, plan } = context;
  const roles = isMeasurement(purpose) ? (['target'] as const) : plan.agents;
  const assignments = await choosePolicies(deps)({ ...key, purpose, roles, step });
  const policyIds = assignments.map(({ policyId }) => policyId);
  return missingAttempts(context, { purpose, policyIds, step, ...attemptRange(spec, { purpose, step }) });
}

async function missingAttempts({ deps, key }: PhaseContext, planned: PlannedAttempts): Promise<string | null> {
  const missing = await deps.store.phaseChecks.countMissingAttempts(key, planned);
  return missing === 0 ? null : `${missing} of its planned attempts`;
}

async function missingPolicies({ deps, key }: PhaseContext): Promise<string | null> {
  const jobs = await deps.store.phaseChecks.listUntrained(key);
  return jobs.length === 0 ? null : `the policy of ${jobs.join(', ')}`;
}

/** Counts the attempts of a phase by outcome, and books their tokens and seconds. */
async function countAttempts({ deps, key }: PhaseContext, purposes: readonly Purpose[]): Promise<Counts> {
  const { store } = deps;
  const rows = await store.trajectories.countByOutcome(key, purposes);
  const sum = (unit: 'tokens' | 'seconds'): number => rows.reduce((total, row) => total + row[unit], 0);
  const cost = { tokens: sum('tokens'), seconds: sum('seconds') };
  await store.ledger.settle(key, `iteration/${key.iteration}/${key.phase}`, cost);
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

async function listCandidates({ deps, key }: PhaseContext) {
  const created = await deps.store.tasks.list(key.campaignId, { createdIteration: key.iteration });
  return created.filter(({ origin }) => origin !== 'seed');
}

function tally(names: readonly string[]): Counts {
  const counts: Counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
