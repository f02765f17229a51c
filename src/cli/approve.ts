import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { awaitsApproval } from '../domain/approval';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/ids';
import { resumeUpdate, statusQuery } from '../workflows/messages';
import { printResult } from './output';
import { withSession } from './session';

type Options = { reject: string[]; json?: boolean };

/** `coevolve approve <campaign>`: what waits for admission is admitted, but for the tasks named. */
export function addApprove(program: Command): void {
  program
    .command('approve <campaign>')
    .description('admit the tasks that a campaign has parked for approval')
    .option('--reject <task...>', 'ids of tasks to reject instead', [])
    .option('--json', 'print the new state as JSON')
    .action((name: string, { reject, json }: Options) =>
      withSession(async ({ store, temporal }) => {
        const { id } = await store.campaigns.getByName(name);
        const client = await temporal();
        const handle = client.workflow.getHandle(campaignWorkflowId(name));
        const { status, progress } = await handle.query(statusQuery);
        if (status !== 'parked' || !awaitsApproval(progress.parked))
          throw new DomainError(
            'NothingToApprove',
            `${name} is ${status} in phase ${progress.phase}: nothing waits for approval; see \`coevolve status ${name}\``,
          );
        const { iteration } = progress;
        const waiting = await store.tasks.list(id, { verdict: 'candidate', createdIteration: iteration });
        const unknown = reject.filter((task) => !waiting.some((candidate) => candidate.id === task));
        if (unknown.length > 0)
          throw new DomainError(
            'UnknownTask',
            `--reject: found ${unknown.join(', ')}, expected ids that \`coevolve tasks ${name} --verdict candidate\` lists`,
          );
        const { username: actor } = userInfo();
        await store.campaigns.recordEvent(id, {
          iteration,
          kind: 'approved',
          actor,
          detail: { iteration, rejected: reject },
        });
        const state = await handle.executeUpdate(resumeUpdate, { args: [{ actor, reason: 'approved' }] });
        const kept = waiting.length - reject.length;
        printResult(json, state, () => `${name}: ${kept} tasks approved, ${reject.length} rejected; ${state.status}`);
      }),
    );
}
