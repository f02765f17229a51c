import { analysisInput } from '../../src/statistics/analysis-input';
import type { EffortMeasure } from '../../src/domain/experiment/experiment';
import { analysisKey } from '../../src/statistics/run-statistics';
import { simulateRecord } from '../support/long-table';

const record = simulateRecord({ effects: { none: 0, signals: 0.1 }, seeds: 2, tasks: 4 });

/** The record of a repetition that took longer and found none of its work. */
const slower = {
  ...record,
  cells: record.cells.map((cell) => ({
    ...cell,
    checkpoints: cell.checkpoints.map(({ checkpoint, effort }) => ({
      checkpoint,
      effort: {
        ...effort,
        trainedTokens: { ...effort.trainedTokens!, paid: effort.trainedTokens!.nominal },
        wallSeconds: { nominal: effort.wallSeconds!.nominal + 100, paid: effort.wallSeconds!.paid + 100 },
      },
    })),
  })),
};

const keyOf = (cells: typeof record, equal: EffortMeasure[]): string =>
  analysisKey(
    analysisInput({ ...cells, experiment: { ...record.experiment, match: { ...record.experiment.match, equal } } }, 2),
  );

test('time and paid amounts do not change the key of an analysis', () => {
  expect(keyOf(slower, ['updates'])).toBe(keyOf(record, ['updates']));
});

test('time changes the key of an analysis that decides by it', () => {
  expect(keyOf(slower, ['wallSeconds'])).not.toBe(keyOf(record, ['wallSeconds']));
});
