import { groupBy } from '../../../domain/group-by';
import { rewardInterval, wilsonInterval } from '../../../domain/evaluation/statistics';
import { listSetScores, type SetScore } from '../../../store/training/set-scores';
import { lead, note } from '../../page/blocks';
import { count, interval, percent, rate, share, shortHash } from '../../page/format';
import { html, type Content, type Html } from '../../page/html';
import { defineSection, type SharedData } from '../../page/section';
import { table } from '../../page/table';

/** Scores on the sets that no choice reads, and the breakdown of all sets by the environment's own groups. */
export const reportedSetsSection = defineSection({
  id: 'test',
  title: 'Scores on the test set',
  queries: { setScores: listSetScores },
  render({ campaign, outcome, setScores }) {
    const reported = setScores.filter(({ evaluationSet }) => evaluationSet !== 'dev');
    if (setScores.length === 0) return null;
    return [
      lead(
        reported.length === 0
          ? 'This campaign has scored no policy on a test set: its scores on dev are those that the promotion gate has read.'
          : 'No choice of the campaign reads these tasks. The first policy and every promoted one play them once.',
      ),
      note('One campaign is one seed: its differences speak of these checkpoints on these tasks, not of its method.'),
      ...(reported.length > 0 ? [scoreTable(reported.filter(isWhole), campaign.confidence)] : []),
      ...groupTables(setScores, outcome, campaign.confidence),
    ];
  },
});

const isWhole = ({ feature }: SetScore): boolean => feature === null;

const head = (confidence: number): string[] => {
  const level = `${percent(confidence)} interval`;
  return ['tasks (n)', 'solved', 'success', level, 'mean reward', level];
};

const cells = (score: SetScore, confidence: number): Content[] => {
  const { tasks, successes, meanReward, rewardDeviation } = score;
  const ofSuccess = wilsonInterval(successes, tasks, confidence);
  const ofReward = rewardInterval(meanReward, rewardDeviation, tasks, confidence);
  return [
    count(tasks),
    count(successes),
    share(successes, tasks),
    interval(ofSuccess.low, ofSuccess.high),
    rate(meanReward),
    interval(ofReward.low, ofReward.high),
  ];
};

const scoreTable = (scores: readonly SetScore[], confidence: number): Html =>
  table({
    caption: 'Sets that no choice reads',
    head: ['set', 'iteration', 'policy', ...head(confidence)],
    textColumns: 3,
    rows: scores.map((score) => [
      score.evaluationSet,
      String(score.iteration),
      html`<code>${shortHash(score.policyId)}</code>`,
      ...cells(score, confidence),
    ]),
  });

/** One table per feature: the first and the final policy on each group of each set. */
function groupTables(scores: readonly SetScore[], { start, final }: SharedData['outcome'], confidence: number): Html[] {
  const shown = new Set([start?.policyId, final?.policyId]);
  const grouped = scores.filter((score) => !isWhole(score) && shown.has(score.policyId));
  if (grouped.length === 0) return [];
  const tables = [...groupBy(grouped, ({ feature }) => feature!)].map(([feature, ofFeature]) =>
    table({
      caption: `Scores by ${feature}`,
      head: ['set', feature, 'iteration', ...head(confidence)],
      textColumns: 3,
      rows: ofFeature.map((score) => [
        score.evaluationSet,
        score.value!,
        String(score.iteration),
        ...cells(score, confidence),
      ]),
    }),
  );
  return [...tables, note('Breakdowns are descriptive: no test corrects for the number of groups.')];
}
