import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { AgentRole } from '../../domain/roles';
import { assertEpoch, type IterationKey } from '../database/epoch';

export type PolicyRole = AgentRole | 'base';

export type PolicyRow = {
  id: string;
  role: PolicyRole;
  parentId: string | null;
  iteration: number;
  trainingRun: string;
  /** The run's update that produced the policy; null: the run's only policy. */
  step: number | null;
  uri: string;
};

type NewPolicy = Omit<PolicyRow, 'step' | 'iteration'> & Partial<Pick<PolicyRow, 'step'>>;

const columns = `id, role, parent_id as "parentId", iteration, training_run as "trainingRun", step, uri`;

export const policyStore = (pool: Pool) => ({
  /**
   * Registers a checkpoint under its content hash; a second call changes nothing. A first policy that several roles
   * share is registered for the target, otherwise for another agent, and for the base only if no agent uses it: its
   * attempts are those of an agent.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, policy: NewPolicy): Promise<void> {
    const { id, role, parentId, trainingRun, step = null, uri } = policy;
    await pool.query(
      `insert into policies (campaign_id, id, role, parent_id, iteration, training_run, step, uri, epoch)
       select $1::integer, $4, $5, $6, $2::smallint, $7, $8::smallint, $9, $3::integer
       from iterations i
       where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
       for share
       on conflict (campaign_id, id) do update set role = excluded.role
         where policies.role = 'base' or excluded.role = 'target'`,
      [key.campaignId, key.iteration, key.epoch, id, role, parentId, trainingRun, step, uri],
    );
    await assertEpoch(pool, key);
  },

  async get(campaignId: number, id: string): Promise<PolicyRow> {
    const { rows } = await pool.query<PolicyRow>(
      `select ${columns} from policies where campaign_id = $1::integer and id = $2`,
      [campaignId, id],
    );
    if (!rows[0]) throw new DomainError('UnknownPolicy', `campaign ${campaignId} has no policy ${id}`);
    return rows[0];
  },

  async list(campaignId: number): Promise<PolicyRow[]> {
    const { rows } = await pool.query<PolicyRow>(
      `select ${columns} from policies where campaign_id = $1::integer order by iteration, step nulls first, recorded_at`,
      [campaignId],
    );
    return rows;
  },

  /** Returns the active policy of each role. */
  async listActive(campaignId: number): Promise<Partial<Record<PolicyRole, string>>> {
    const { rows } = await pool.query<{ role: PolicyRole; id: string }>(
      `select role, policy_id as id from active_policies where campaign_id = $1::integer`,
      [campaignId],
    );
    return Object.fromEntries(rows.map(({ role, id }) => [role, id]));
  },

  /**
   * Makes `next` the active policy of a role if `expected` (null: none) still is. Setting the policy that is already
   * active succeeds, so a retry after a lost response is safe.
   *
   * @throws DomainError `ActivePolicyChanged` when another policy has become active, `StaleEpoch` when a later run owns the
   *   iteration
   */
  async setActivePolicy(key: IterationKey, role: PolicyRole, expected: string | null, next: string): Promise<void> {
    const { rowCount } = await pool.query(
      `insert into active_policies (campaign_id, role, policy_id)
       select $1::integer, $2, $4
       from iterations i
       where i.campaign_id = $1::integer and i.number = $5::smallint and i.epoch = $6::integer
         and ($3::text is null or exists (select from active_policies where campaign_id = $1::integer and role = $2))
       for share of i
       on conflict (campaign_id, role) do update
         set policy_id = excluded.policy_id,
             version = active_policies.version + (active_policies.policy_id <> excluded.policy_id)::integer
         where active_policies.policy_id in ($3::text, $4)`,
      [key.campaignId, role, expected, next, key.iteration, key.epoch],
    );
    if (rowCount === 1) return;
    await assertEpoch(pool, key);
    throw new DomainError(
      'ActivePolicyChanged',
      `the active ${role} policy is no longer ${expected?.slice(0, 12) ?? 'unset'}`,
    );
  },

  /**
   * Stores a promotion decision. The first decision of an iteration is kept and returned.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async recordDecision(key: IterationKey, decision: Omit<PromotionRow, 'iteration'>): Promise<PromotionRow> {
    const { role, candidateId, incumbentId, reason } = decision;
    const { rows } = await pool.query<PromotionRow>(
      `insert into promotions (campaign_id, iteration, role, candidate_id, incumbent_id, decision, reason, epoch)
       select $1::integer, $2::smallint, $4, $5, $6, $7, $8, $3::integer
       from iterations i
       where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
       for share
       on conflict (campaign_id, iteration, role) do update set role = excluded.role
       returning iteration, role, candidate_id as "candidateId", incumbent_id as "incumbentId", decision, reason`,
      [key.campaignId, key.iteration, key.epoch, role, candidateId, incumbentId, decision.decision, reason],
    );
    await assertEpoch(pool, key);
    return rows[0]!;
  },

  /** Returns the promotion decision of an iteration, if it is stored. */
  async findDecision(campaignId: number, iteration: number, role: PolicyRole): Promise<PromotionRow | undefined> {
    const { rows } = await pool.query<PromotionRow>(
      `select iteration, role, candidate_id as "candidateId", incumbent_id as "incumbentId", decision, reason
       from promotions where campaign_id = $1::integer and iteration = $2::smallint and role = $3`,
      [campaignId, iteration, role],
    );
    return rows[0];
  },
});

export type PromotionRow = {
  iteration: number;
  role: PolicyRole;
  candidateId: string;
  incumbentId: string | null;
  decision: 'promote' | 'keep';
  reason: string;
};

export type PolicyStore = ReturnType<typeof policyStore>;
