import type { Command } from 'commander';
import { awaitsApproval } from '../../domain/campaign/approval';
import type { CampaignState } from '../../domain/campaign/progress';
import { DomainError } from '../../domain/base/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { resumeUpdate, statusQuery } from '../../workflows/base/messages';
import { printResult } from '../base/output';
import { operatorName, withSession, type Session } from '../../client/session';

type Options = { reject: string[]; keep?: boolean; json?: boolean };

/** What waits, and for whom it is approved. */
type Waiting = { name: string; id: number; iteration: number; actor: string };

/** `coevolve approve <campaign>`: what waits for admission is admitted, but for the tasks named; a trained policy acts. */
export function addApprove(program: Command): void {
  program
    .command('approve <campaign>')
    .description('let in what a campaign has parked for approval: tasks before admission, a policy before promotion')
    .option('--reject <task...>', 'ids of tasks to reject instead', [])
    .option('--keep', 'keep the policy that acts instead')
    .option('--json', 'print the new state as JSON')
    .action((name: string, options: Options) => withSession((session) => approve(session, name, options)));
}

async function approve(session: Session, name: string, options: Options): Promise<void> {
  const { id } = await session.store.campaigns.getByName(name);
  const handle = (await session.temporal()).workflow.getHandle(campaignWorkflowId(name));
  const { status, progress } = await handle.query<CampaignState>(statusQuery);
  if (progress.parked === null || !awaitsApproval(progress.parked))
    throw new DomainError(
      'NothingToApprove',
      `${name} is ${status} in phase ${progress.phase}: nothing waits for approval; see \`coevolve status ${name}\``,
    );
  const waiting: Waiting = { name, id, iteration: progress.iteration, actor: operatorName() };
  const said = await (progress.phase === 'evaluate' ? promote : admit)(session, waiting, options);
  const state = await handle.executeUpdate(resumeUpdate, { args: [{ actor: waiting.actor, reason: 'approved' }] });
  printResult(options.json, state, () => `${name}: ${said}; ${state.status}`);
}

async function promote({ store }: Session, waiting: Waiting, { keep, reject }: Options): Promise<string> {
  if (reject.length > 0) throw new DomainError('NoTasks', '--reject: no task waits, but a policy; `--keep` rejects it');
  const { id, iteration, actor } = waiting;
  const word = { decision: keep ? 'keep' : 'promote', actor } as const;
  const { decision } = await store.promotionApprovals.save(id, { iteration, role: 'target', ...word });
  const key = `approved/promotion/${iteration}`;
  await store.campaigns.recordEvent(id, { iteration, kind: 'approved', actor, detail: { decision }, key });
  return decision === 'promote' ? 'the trained policy acts' : 'the policy that acts is kept';
}

async function admit({ store }: Session, waiting: Waiting, { keep, reject }: Options): Promise<string> {
  if (keep) throw new DomainError('NoPolicy', '--keep: no policy waits, but tasks; `--reject <id>` rejects them');
  const { id, name, iteration, actor } = waiting;
  const tasks = await store.tasks.list(id, { verdict: 'candidate', createdIteration: iteration });
  const unknown = reject.filter((task) => !tasks.some((candidate) => candidate.id === task));
  if (unknown.length > 0)
    throw new DomainError(
      'UnknownTask',
      `--reject: found ${unknown.join(', ')}, expected ids that \`coevolve tasks ${name} --verdict candidate\` lists`,
    );
  await store.campaigns.recordEvent(id, {
    ...{ iteration, kind: 'approved', actor },
    ...{ detail: { iteration, rejected: reject }, key: `approved/admission/${iteration}` },
  });
  return `${tasks.length - reject.length} tasks approved, ${reject.length} rejected`;
}
