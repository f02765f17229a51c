import { count } from '../../../page/format';
import { note } from '../../../page/blocks';
import { table } from '../../../page/table';
import { points } from '../../model/points';
import { defineSection } from '../../model/section';

const armHead = ['arm', 'seeds', 'tasks', 'mean', 'sd', 'min', 'max', 'IQM', '95 % low', 'high'];

/** Means of each arm over its seeds. */
export const armsSection = defineSection({
  id: 'arms',
  title: 'Arms',
  render: ({ record, analysis }) => [
    note(
      `Points of ${record.experiment.analysis.metric}, one value per seed. IQM: mean without a quarter of the seeds at ` +
        'each end. The interval describes one arm; two of them do not make a test.',
    ),
    table({
      caption: 'Arms',
      head: armHead,
      rows: analysis.arms.map((arm) => [
        arm.arm,
        count(arm.seeds),
        count(arm.tasks),
        points(arm.mean),
        points(arm.sd),
        points(arm.min),
        points(arm.max),
        points(arm.iqm),
        points(arm.low),
        points(arm.high),
      ]),
    }),
  ],
});
