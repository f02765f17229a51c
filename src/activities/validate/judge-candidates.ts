import { cancellationSignal } from '@temporalio/activity';
import { slidingWindow, type Range } from '../../domain/concurrency';
import { validationId } from '../../domain/campaign/ids';
import type { IterationKey } from '../../store/campaign/iterations';
import { askJudge } from './ask-judge';
import { calibrateIfNew, isJudged, requireVote } from './judge-trust';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Concurrent calls of one activity. The rate limit of the provider applies on top. */
const concurrency = 10;

/**
 * Requests the judge's verdict on every executed candidate in a range of the validation plan (arXiv:2604.15840, section
 * 3.3), under every acceptance rule: the report compares them with the environment's verdicts. Of a judge that is not to be
 * calibrated (`judge.calibrationTasks: 0`) only the verdicts that decide are requested.
 *
 * Idempotent: a stored judgement is not requested again.
 *
 * @throws DomainError `UntrustedJudge` before the first verdict, where verdicts of this judge would admit tasks
 */
export const judgeCandidates =
  (deps: Dependencies) =>
  async ({ from, to, ...key }: IterationKey & Range): Promise<{ judged: number }> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const tasks = await deps.store.tasks.listPlanned(key, 'validation', from, to);
    const playOf = (taskId: string): string => validationId(key.iteration, taskId);
    const plays = await deps.store.trajectories.findMany(
      key.campaignId,
      tasks.map(({ id }) => playOf(id)),
    );
    const executed = tasks.flatMap((task) => {
      const transcript = plays.get(playOf(task.id));
      return transcript?.outcome === 'scored' ? [{ task, transcript }] : [];
    });
    const deciding = executed.filter(({ task }) => isJudged(task, spec));
    const asked = spec.judge.calibrationTasks === 0 ? deciding : executed;
    if (deciding.length > 0) {
      await calibrateIfNew(deps, spec, key);
      await requireVote(deps, { spec, key });
    }
    const signal = cancellationSignal();
    await slidingWindow(concurrency, asked, ({ task, transcript }) => {
      const subject = { kind: 'candidate', id: candidateJudgementId(key, task.id), task, transcript } as const;
      return askJudge(deps, { spec, key }, subject, signal);
    });
    return { judged: asked.length };
  };

export const candidateJudgementId = ({ iteration }: Pick<IterationKey, 'iteration'>, taskId: string): string =>
  `${iteration}/candidate/${taskId}`;
