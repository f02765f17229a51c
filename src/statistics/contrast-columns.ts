import { z } from 'zod';

/** Formats of numbers in tables for readers, by name. Exported files keep every digit. */
export type ColumnFormat = 'points' | 'signedPoints' | 'pValue' | 'decimal' | 'share' | 'count' | 'text';

/** A statistic of a contrast, as every table shows it. */
export type ContrastColumn = {
  /** Names the statistic in the output of `coevolve_statistics` and in exported files. */
  key: string;
  /** Names the upper end of an interval, whose lower end is `key`; tables for readers show both in one cell. */
  upperKey?: string;
  /** Heads the column in tables for readers. */
  label: string;
  format: ColumnFormat;
  /** Explains the statistic in one sentence below a table. */
  explanation: string;
  /** Exported files have every column, reports all but `exports`, the terminal those for `everywhere`. */
  shown: 'exports' | 'reports' | 'everywhere';
  /** Tables for readers leave the cell of a primary contrast empty. */
  secondaryOnly?: true;
};

/**
 * All statistics of a contrast. A new one is an entry here and a function of the same name in
 * `statistics/src/coevolve_statistics/contrast_statistics.py`; no table, schema or export has to be changed for it.
 */
export const contrastColumns = [
  {
    key: 'difference',
    label: 'difference',
    format: 'signedPoints',
    explanation: 'difference: the mean over the seeds of the first arm minus the second, in points',
    shown: 'everywhere',
  },
  {
    key: 'sd',
    label: 'sd',
    format: 'points',
    explanation: 'sd: the standard deviation of the differences by seed, in points',
    shown: 'exports',
  },
  {
    key: 'low',
    upperKey: 'high',
    label: 'CI',
    format: 'signedPoints',
    explanation:
      'CI: the interval of the difference, of 95 % at alpha 0.05 and one look; it excludes 0 when p is below the level',
    shown: 'everywhere',
  },
  {
    key: 'twoWayLow',
    upperKey: 'twoWayHigh',
    label: 'two-way CI',
    format: 'signedPoints',
    explanation:
      'two-way CI: the interval at the same level from an error that clusters by seed and by task; it stands beside CI and decides nothing',
    shown: 'reports',
  },
  {
    key: 'twoWayError',
    label: 'two-way error',
    format: 'points',
    explanation:
      'two-way error: the standard error of that interval, in points; without common tasks it is sd / sqrt(S)',
    shown: 'exports',
  },
  {
    key: 'sharedTasks',
    label: 'shared tasks',
    format: 'share',
    explanation:
      'shared tasks: the share of the test tasks that two seeds have in common, the mean over all pairs of seeds',
    shown: 'reports',
  },
  {
    key: 'low90',
    upperKey: 'high90',
    label: '90 % CI',
    format: 'signedPoints',
    explanation: '90 % CI: lies within the margin exactly when equivalence is shown',
    shown: 'exports',
  },
  {
    key: 'p',
    label: 'p',
    format: 'pValue',
    explanation: 'p: the paired t test over the differences by seed',
    shown: 'everywhere',
  },
  {
    key: 'adjustedP',
    label: 'Holm p',
    format: 'pValue',
    explanation: 'Holm p: the same p, corrected for all secondary contrasts; the primary p is not corrected',
    shown: 'everywhere',
    secondaryOnly: true,
  },
  {
    key: 'signFlipP',
    label: 'sign-flip p',
    format: 'pValue',
    explanation: 'sign-flip p: stands beside the t test and is never chosen instead',
    shown: 'reports',
  },
  {
    key: 'equivalenceP',
    label: 'TOST p',
    format: 'pValue',
    explanation: 'TOST p: two one-sided tests of equivalence within the margin',
    shown: 'everywhere',
  },
  {
    key: 'changed',
    label: 'changed',
    format: 'share',
    explanation: 'changed: the share of the test tasks that the arms answer differently, the mean over the seeds',
    shown: 'reports',
  },
  {
    key: 'typical',
    label: 'typical',
    format: 'signedPoints',
    explanation:
      'typical: the Hodges-Lehmann estimate of the difference, which one collapsed seed moves little; it tests nothing',
    shown: 'reports',
  },
  {
    key: 'trimmed',
    label: 'trimmed',
    format: 'signedPoints',
    explanation: 'trimmed: the mean of the differences without the fifth of the seeds at each end, from five seeds on',
    shown: 'reports',
  },
  {
    key: 'trimmedP',
    label: 'trimmed p',
    format: 'pValue',
    explanation:
      'trimmed p: the test of that mean over its error, for secondary contrasts by Holm; a verdict only where analysis.companion declares it',
    shown: 'reports',
  },
  {
    key: 'effectSize',
    label: 'g_z',
    format: 'decimal',
    explanation: 'g_z: the difference over its deviation, corrected for few seeds',
    shown: 'reports',
  },
  {
    key: 'probability',
    label: 'P(A > B)',
    format: 'decimal',
    explanation: 'P(A > B): the share of the seeds in which the first arm is above the second, with half of the ties',
    shown: 'reports',
  },
  {
    key: 'probabilityLow',
    upperKey: 'probabilityHigh',
    label: 'P(A > B), 95 % CI',
    format: 'decimal',
    explanation: "P(A > B), 95 % CI: Wilson's interval of that share",
    shown: 'exports',
  },
  {
    key: 'detectable',
    label: 'detectable',
    format: 'points',
    explanation:
      'detectable: the difference that these seeds detect with 80 % power at the observed deviation, in points',
    shown: 'exports',
  },
  {
    key: 'seedsNeeded',
    label: 'seeds needed',
    format: 'count',
    explanation: 'seeds needed: the seeds that would detect the margin with 80 % power',
    shown: 'exports',
  },
] as const satisfies readonly ContrastColumn[];

type Column = (typeof contrastColumns)[number];
export type ContrastKey = Column['key'] | Extract<Column, { upperKey: string }>['upperKey'];

/** The keys of all statistics, in the order of their columns. */
export const contrastKeys: readonly ContrastKey[] = contrastColumns.flatMap((column) =>
  'upperKey' in column ? [column.key, column.upperKey] : [column.key],
);

/** Returns an object with one value for the key of every statistic. */
export const forEachKey = <Value>(value: Value): Record<ContrastKey, Value> =>
  Object.fromEntries(contrastKeys.map((key) => [key, value])) as Record<ContrastKey, Value>;

/** The statistics in the schema of a contrast. A number that does not exist is null, such as a deviation of one seed. */
export const contrastStatistics = forEachKey(z.number().nullable());
