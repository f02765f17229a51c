import type { Comparison } from '../../client/compare-campaigns';
import { text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats the keys in which specs differ, with a column for each of `names`. */
export const differencesTable = (differences: Comparison['differences'], names: readonly string[]): string =>
  terminalTable(differences, [
    text('key', (row) => row.key),
    ...names.map((name, i) =>
      text<(typeof differences)[number]>(name, ({ values }) => (values[i] === null ? null : JSON.stringify(values[i]))),
    ),
  ]);
