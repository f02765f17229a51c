import { groupBy } from '../../domain/group-by';
import { findSeal, sealText } from '../../store/experiment/seals';
import { listSetScores } from '../../store/training/set-scores';
import { table, text } from '../../tables/table';
import { lead, note, withCode } from '../page/blocks';
import { scoreColumns, setColumns } from '../score-columns';
import { defineSection } from './campaign-data';

/** Scores on the sets that no choice reads, and the breakdown of all sets by the environment's own groups. */
export const reportedSetsSection = defineSection({
  id: 'test',
  title: 'Scores on the test set',
  queries: { setScores: listSetScores, seal: findSeal },
  body({ campaign: { confidence }, outcome: { start, final }, setScores, seal }) {
    if (setScores.length === 0) return null;
    const reported = setScores.filter(({ evaluationSet }) => evaluationSet !== 'dev');
    const shown = new Set([start?.policyId, final?.policyId]);
    const grouped = setScores.filter(({ feature, policyId }) => feature !== null && shown.has(policyId));
    return [
      lead(
        seal
          ? withCode(`The scores on test are ${sealText(seal)}.`)
          : reported.length === 0
            ? 'This campaign has scored no policy on a test set: its scores on dev are those that the promotion gate has read.'
            : 'No choice of the campaign reads these tasks. The first policy and every promoted one play them once.',
      ),
      note('One campaign is one seed: its differences speak of these checkpoints on these tasks, not of its method.'),
      reported.length > 0 &&
        table(
          'Sets that no choice reads',
          reported.filter(({ feature }) => feature === null),
          [...setColumns, ...scoreColumns(confidence, reported)],
        ),
      // a table per feature: the first and the final policy on each group of each set
      ...[...groupBy(grouped, ({ feature }) => feature!)].map(([feature, scores]) =>
        table(`Scores by ${feature}`, scores, [
          text('set', (score) => score.evaluationSet),
          text(feature, (score) => score.value),
          text('iteration', (score) => score.iteration),
          ...scoreColumns(confidence, scores),
        ]),
      ),
      grouped.length > 0 && note('Breakdowns are descriptive: no test corrects for the number of groups.'),
    ];
  },
});
