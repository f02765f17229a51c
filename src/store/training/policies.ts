import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { AgentRole } from '../../domain/roles';
import { assertEpoch, type IterationKey } from '../database/epoch';
import { raw, sql } from '../database/sql';

export type PolicyRole = AgentRole | 'base';

export type PolicyRow = {
  id: string;
  role: PolicyRole;
  parentId: string | null;
  iteration: number;
  trainingRun: string;
  /** The run's update that produced the policy, if the run produced several. */
  step: number | null;
  uri: string;
};

type NewPolicy = Omit<PolicyRow, 'step' | 'iteration'> & Partial<Pick<PolicyRow, 'step'>>;

const columns = `id, role, parent_id as "parentId", iteration, training_run as "trainingRun", step, uri`;

export const policyStore = (pool: Pool) => ({
  /**
   * Registers a checkpoint under its content hash; a second call changes nothing. A first policy that several roles
   * share is registered for the target, otherwise for another agent, and for the base only if no agent uses it, so
   * that its attempts belong to an agent.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, policy: NewPolicy): Promise<void> {
    const { id, role, parentId, trainingRun, step = null, uri } = policy;
    await pool.query(sql`
      insert into policies (campaign_id, id, role, parent_id, iteration, training_run, step, uri, epoch)
      select ${key.campaignId}::integer, ${id}, ${role}, ${parentId}, ${key.iteration}::smallint, ${trainingRun},
        ${step}::smallint, ${uri}, ${key.epoch}::integer
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
      for share
      on conflict (campaign_id, id) do update set role = excluded.role
        where policies.role = 'base' or excluded.role = 'target'`);
    await assertEpoch(pool, key);
  },

  async get(campaignId: number, id: string): Promise<PolicyRow> {
    const { rows } = await pool.query<PolicyRow>(sql`
      select ${raw(columns)} from policies where campaign_id = ${campaignId}::integer and id = ${id}`);
    if (!rows[0]) throw new DomainError('UnknownPolicy', `campaign ${campaignId} has no policy ${id}`);
    return rows[0];
  },

  async list(campaignId: number): Promise<PolicyRow[]> {
    const { rows } = await pool.query<PolicyRow>(sql`
      select ${raw(columns)} from policies where campaign_id = ${campaignId}::integer order by iteration,
        step nulls first, recorded_at`);
    return rows;
  },

  /** Returns the active policy of each role. */
  async listActive(campaignId: number): Promise<Partial<Record<PolicyRole, string>>> {
    const { rows } = await pool.query<{ role: PolicyRole; id: string }>(sql`
      select role, policy_id as id from active_policies where campaign_id = ${campaignId}::integer`);
    return Object.fromEntries(rows.map(({ role, id }) => [role, id]));
  },

  /**
   * Makes `next` the active policy of a role if `expected` still is; null stands for no active policy. Setting the
   * policy that is already active succeeds, so a retry after a lost response is safe.
   *
   * @throws DomainError `ActivePolicyChanged` when another policy has become active, `StaleEpoch` when a later run owns the
   *   iteration
   */
  async setActivePolicy(key: IterationKey, role: PolicyRole, expected: string | null, next: string): Promise<void> {
    const { rowCount } = await pool.query(sql`
      insert into active_policies (campaign_id, role, policy_id)
      select ${key.campaignId}::integer, ${role}, ${next}
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
        and (${expected}::text is null or exists (select from active_policies
          where campaign_id = ${key.campaignId}::integer and role = ${role}))
      for share of i
      on conflict (campaign_id, role) do update
        set policy_id = excluded.policy_id,
            version = active_policies.version + (active_policies.policy_id <> excluded.policy_id)::integer
        where active_policies.policy_id in (${expected}::text, ${next})`);
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
    const { rows } = await pool.query<PromotionRow>(sql`
      insert into promotions (campaign_id, iteration, role, candidate_id, incumbent_id, decision, reason, epoch)
      select ${key.campaignId}::integer, ${key.iteration}::smallint, ${role}, ${candidateId}, ${incumbentId},
        ${decision.decision}, ${reason}, ${key.epoch}::integer
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
      for share
      on conflict (campaign_id, iteration, role) do update set role = excluded.role
      returning iteration, role, candidate_id as "candidateId", incumbent_id as "incumbentId", decision, reason`);
    await assertEpoch(pool, key);
    return rows[0]!;
  },

  /** Returns the promotion decision of an iteration, if it is stored. */
  async findDecision(campaignId: number, iteration: number, role: PolicyRole): Promise<PromotionRow | undefined> {
    const { rows } = await pool.query<PromotionRow>(sql`
      select iteration, role, candidate_id as "candidateId", incumbent_id as "incumbentId", decision, reason
      from promotions where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint
        and role = ${role}`);
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
