import { type Column, number, text } from '../../src/tables/table';
import { terminalTable } from '../../src/tables/terminal-table';

type Row = readonly [string | null, number | null];
const name: Column<Row> = text('name', ([first]) => first);

test('columns are as wide as their widest cell and numbers are aligned to the right', () => {
  const n = number<Row>('n', ([, second]) => second, String);
  const rows: Row[] = [['a', 5], ['longer', 1000]]; // oxfmt-ignore
  expect(terminalTable(rows, [name, n])).toBe('name       n\na          5\nlonger  1000');
});

test('null is a dash and lines have no trailing spaces', () => {
  const rows: Row[] = [[null, 1], ['x', null]]; // oxfmt-ignore
  const columns = [number<Row>('n', ([, second]) => second), text<Row>('reason', ([first]) => first)];
  expect(terminalTable(rows, columns)).toBe('n  reason\n1  -\n-  x');
});
