import { UsageError } from '../../errors/errors';
import { functionsRole, summarizeFunctions } from '../../domain/rollout/functions';
import { conversationOf } from '../../domain/rollout/turn';
import type { Command } from 'commander';
import type { Resume } from '../../store/trajectories/turn-journal';
import type { TrajectoryRow } from '../../store/trajectories/trajectories';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';

/** `coevolve trajectory <campaign>/<id>` */
export function addTrajectory(program: Command): void {
  program
    .command('trajectory <id>')
    .description('print the turns of an attempt, by <campaign>/<trajectory id>')
    .option('--json', 'print the trajectory as JSON')
    .action((qualified: string, { json }: { json?: boolean }) =>
      withConnections(async ({ store }) => {
        const slash = qualified.indexOf('/');
        if (slash < 1)
          throw new UsageError(
            `id: found "${qualified}", expected <campaign>/<trajectory id>; \`coevolve attempts <campaign>\` lists them`,
          );
        const { id } = await store.campaigns.getByName(qualified.slice(0, slash));
        const trajectory = await store.trajectories.get(id, qualified.slice(slash + 1));
        const resumes = await store.turnJournal.listResumes(id, trajectory.id);
        printResult(json, { ...trajectory, resumes }, () => transcript(trajectory, resumes));
      }),
    );
}

/** Formats the result, the interruptions and the messages of an attempt. */
export function transcript(trajectory: TrajectoryRow, resumes: readonly Resume[]): string {
  const { id, outcome, reward, stopReason, seed } = trajectory;
  return [
    [`${id}: ${outcome}, reward ${reward ?? '-'}, ${stopReason}, seed ${seed}`, ...resumes.map(toLine)].join('\n'),
    ...conversationOf(trajectory).map(({ role, content }) => {
      const text = role === functionsRole ? summarizeFunctions(content) : content;
      return `${role}:\n  ${text.replaceAll('\n', '\n  ')}`;
    }),
  ].join('\n\n');
}

const toLine = ({ outcome, turns, detail }: Resume): string =>
  outcome === 'resumed'
    ? `interrupted, resumed after ${turns} replayed turn${turns === 1 ? '' : 's'}`
    : `interrupted, restarted: ${detail}`;
