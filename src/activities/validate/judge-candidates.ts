import { trajectoryId } from '../../domain/campaign/ids';
import type { IterationKey } from '../../store/campaign/iterations';
import { askJudge } from './ask-judge';
import { toActivityFailure } from '../base/activity-failure';
import { getCampaign, type Dependencies } from '../base/dependencies';
import { settleWithin } from '../base/settle-within';
import { whileBeating } from '../base/while-beating';

/** Calls of one activity that are under way together; the provider's pace holds them back further. */
const judgedAtOnce = 10;

/**
 * Lets the judge look at every candidate of a stretch of the validation plan that was executed (arXiv:2604.15840,
 * section 3.3), also where the environment has its own verdict: admission then goes by the environment, and the two can
 * be compared.
 *
 * Idempotent: a candidate that was judged is not judged again.
 */
export const judgeCandidates =
  (services: Dependencies) =>
  async ({ from, to, ...key }: IterationKey & { from: number; to: number }): Promise<{ judged: number }> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const tasks = await services.store.tasks.planned(key, 'validation', from, to);
    const playOf = (taskId: string): string =>
      trajectoryId({ iteration: key.iteration, purpose: 'validation', policyId: null, taskId, attempt: 0 });
    const plays = await services.store.trajectories.getMany(
      key.campaignId,
      tasks.map(({ id }) => playOf(id)),
    );
    const executed = tasks.flatMap((task) => {
      const transcript = plays.get(playOf(task.id));
      return transcript?.outcome === 'scored' ? [{ task, transcript }] : [];
    });
    await whileBeating((signal) =>
      settleWithin(judgedAtOnce, executed, ({ task, transcript }) => {
        const subject = { kind: 'candidate', id: candidateJudgementId(key, task.id), task, transcript } as const;
        return askJudge(services, { spec, key }, subject, { signal });
      }),
    ).catch(toActivityFailure);
    return { judged: executed.length };
  };

export const candidateJudgementId = ({ iteration }: Pick<IterationKey, 'iteration'>, taskId: string): string =>
  `${iteration}/candidate/${taskId}`;
