import { DomainError } from '../domain/errors';
import { parkedCode } from '../domain/campaign/parked-reasons';
import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import { campaignUpdates, statusQuery } from '../workflows/temporal/messages';
import { requireRun } from './campaign-run';
import { operatorName, type Connections } from './connections';

export type ApprovalDecision = {
  /** Ids of waiting tasks to reject. */
  reject: readonly string[];
  /** Keeps the active policy instead of promoting the trained one. */
  keep: boolean;
  /** Name of the operator for the log of events; default: the user of this process. */
  actor?: string;
};

/** `summary`: the decision in one line. */
export type Approved = { summary: string; state: CampaignState };

type Waiting = { name: string; id: number; iteration: number; actor: string };

/**
 * Stores an operator's decision on the tasks or the policy for which a campaign is parked, and resumes the campaign.
 *
 * @throws DomainError `NothingToApprove`, `NoTasks`, `NoPolicy`, `UnknownTask`, `UnknownCampaign`, `NotRunning`, `PausedInTemporal`
 */
export async function approveCampaign(
  connections: Connections,
  name: string,
  decision: ApprovalDecision,
): Promise<Approved> {
  const row = await connections.store.campaigns.getByName(name);
  const { id } = row;
  await requireRun(connections, row);
  const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name));
  const { status, progress } = await handle.query<CampaignState>(statusQuery);
  if (parkedCode(progress) !== 'ApprovalNeeded')
    throw new DomainError(
      'NothingToApprove',
      `${name} is ${status} in phase ${progress.phase}: nothing waits for approval; see \`coevolve status ${name}\``,
    );
  const waiting: Waiting = { name, id, iteration: progress.iteration, actor: decision.actor ?? operatorName() };
  const decide = progress.phase === 'evaluate' ? decidePromotion : decideAdmission;
  const summary = await decide(connections, waiting, decision);
  const operator = { actor: waiting.actor, reason: 'approved' };
  return { summary, state: await handle.executeUpdate(campaignUpdates.resume, { args: [operator] }) };
}

async function decidePromotion(
  { store }: Connections,
  { id, iteration, actor }: Waiting,
  { keep, reject }: ApprovalDecision,
): Promise<string> {
  if (reject.length > 0)
    throw new DomainError('NoTasks', '--reject: a policy waits for approval, not tasks; reject it with `--keep`');
  const requested = { decision: keep ? 'keep' : 'promote', actor } as const;
  const { decision } = await store.promotionApprovals.save(id, { iteration, role: 'target', ...requested });
  const key = `approved/promotion/${iteration}`;
  await store.campaigns.recordEvent(id, { iteration, kind: 'approved', actor, detail: { decision }, key });
  return decision === 'promote' ? 'the trained policy becomes active' : 'the active policy is kept';
}

async function decideAdmission(
  { store }: Connections,
  { id, name, iteration, actor }: Waiting,
  { keep, reject }: ApprovalDecision,
): Promise<string> {
  if (keep)
    throw new DomainError(
      'NoPolicy',
      '--keep: tasks wait for approval, not a policy; reject tasks with `--reject <id>`',
    );
  const tasks = await store.tasks.list(id, { verdict: 'candidate', createdIteration: iteration });
  const unknown = reject.filter((task) => !tasks.some((candidate) => candidate.id === task));
  if (unknown.length > 0)
    throw new DomainError(
      'UnknownTask',
      `--reject: found ${unknown.join(', ')}, expected ids that \`coevolve tasks ${name} --verdict candidate\` lists`,
    );
  await store.campaigns.recordEvent(id, {
    iteration,
    kind: 'approved',
    actor,
    detail: { iteration, rejected: reject },
    key: `approved/admission/${iteration}`,
  });
  return `${tasks.length - reject.length} tasks approved, ${reject.length} rejected`;
}
