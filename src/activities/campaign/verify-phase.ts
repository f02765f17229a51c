import { trainingJobKey } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { Phase } from '../../domain/campaign/phases';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { planOf } from '../../spec/iteration-plan';
import type { IterationKey, PhaseKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import { choosePolicies } from '../rollout/choose-policies';
import { getCampaign, type Dependencies } from '../base/dependencies';

type Context = {
  deps: Dependencies;
  key: IterationKey;
  name: string;
  spec: CampaignSpec;
  plan: Omit<IterationPlan, 'epoch'>;
};

/**
 * Lets a phase commit only what the database holds. What Temporal remembers to have done is gone from a database that was
 * restored from an older backup.
 *
 * @throws DomainError `StateMismatch`
 */
export async function verifyPhase(deps: Dependencies, key: PhaseKey): Promise<void> {
  const prove = proofOf[key.phase];
  if (!prove) return;
  const { name, spec } = await getCampaign(deps, key.campaignId);
  const lack = await prove({ deps, key, name, spec, plan: planOf(spec, key.iteration) });
  if (lack !== null)
    throw await deps.store.phaseChecks.mismatch(key, `phase ${key.phase} of iteration ${key.iteration} lacks ${lack}`);
}

/** What is missing, in words; null: nothing. */
type Proof = (context: Context) => Promise<string | null>;

const proofOf: Partial<Record<Phase, Proof>> = {
  async plan({ deps: { store }, key }) {
    const planned = key.iteration === 0 || (await store.tasks.countPlanned(key, 'train')) > 0;
    return planned && (await store.tasks.list(key.campaignId)).length > 0 ? null : 'its plan';
  },
  rollout: (context) => (context.key.iteration === 0 ? references(context, 'expert') : policies(context, 'train')),
  async optimize(context) {
    const { deps, key, name, plan } = context;
    if (!plan.updates) return null;
    const { role, steps } = plan.updates;
    for (let step = 1; step <= steps; step++) {
      const lack = await policies(context, 'train', step);
      if (lack !== null) return lack;
    }
    const jobKey = trainingJobKey(name, key.iteration, role);
    if (!(await deps.store.rlSteps.policyOf(jobKey, steps))) return `the policy of step ${steps}`;
    return untrained(context);
  },
  detect: (context) => undone(context, 'detect', ['signals']),
  async synthesize(context) {
    const { deps, key, plan } = context;
    const unexplored = plan.providers ? await deps.store.phaseChecks.countUnexplored(key, plan.explorationRounds) : 0;
    if (unexplored > 0) return `${unexplored} of its explorations`;
    return undone(context, 'synthesize', [...plan.aims, 'validation plan']);
  },
  validate: (context) => references(context, 'validation'),
  pair: (context) => undone(context, 'pair', ['pairs']),
  async train(context) {
    const { deps, key, name } = context;
    for (const role of await trainedRoles(context))
      if (!(await deps.store.trainingRuns.find(trainingJobKey(name, key.iteration, role))))
        return `the training run of the ${role} policy`;
    return untrained(context);
  },
  async evaluate(context) {
    const { deps, key, name } = context;
    const run = await deps.store.trainingRuns.find(trainingJobKey(name, key.iteration, 'target'));
    if (!run?.policyId) return null;
    const evaluated = await deps.store.evaluations.list(key.campaignId);
    if (!evaluated.some(({ iteration, policyId }) => iteration === key.iteration && policyId === run.policyId))
      return 'its evaluation';
    return policies(context, 'evaluation');
  },
};

async function undone({ deps, key }: Context, phase: Phase, pieces: readonly string[]): Promise<string | null> {
  const lack = await deps.store.phaseChecks.listUndone(key, phase, pieces);
  return lack.length === 0 ? null : `its work: ${lack.join(', ')}`;
}

const references = ({ deps, key }: Context, purpose: Purpose): Promise<string | null> =>
  attempts(deps, key, { purpose, players: [null], step: 0, from: 0, to: 1 });

async function policies({ deps, key, spec, plan }: Context, purpose: Purpose, step = 0): Promise<string | null> {
  const roles = purpose === 'evaluation' ? (['target'] as const) : plan.agents;
  const players = (await choosePolicies(deps)({ ...key, purpose, roles, step })).map(({ policyId }) => policyId);
  const each = purpose === 'evaluation' ? 1 : spec.rollouts.attempts;
  const from = Math.max(0, step - 1) * each;
  return attempts(deps, key, { purpose, players, step, from, to: from + each });
}

async function attempts(
  { store }: Dependencies,
  key: IterationKey,
  planned: Parameters<Dependencies['store']['phaseChecks']['countMissing']>[1],
): Promise<string | null> {
  const missing = await store.phaseChecks.countMissing(key, planned);
  return missing === 0 ? null : `${missing} of its planned attempts`;
}

/** Who must have been trained: at the start everybody, later whoever there was something to learn for. */
async function trainedRoles({ deps, key, plan }: Context): Promise<PolicyRole[]> {
  if (key.iteration === 0) return ['base', ...plan.agents];
  const pairs = await deps.store.preferencePairs.list(key.campaignId, key.iteration);
  return plan.training
    .filter(({ role, data }) => data !== 'pairs' || pairs.some(({ forRole }) => forRole === role))
    .map(({ role }) => role);
}

async function untrained({ deps, key }: Context): Promise<string | null> {
  const jobs = await deps.store.phaseChecks.listUntrained(key);
  return jobs.length === 0 ? null : `the policy of ${jobs.join(', ')}`;
}
