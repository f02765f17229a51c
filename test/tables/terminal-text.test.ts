import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { print, printMessage, printResult } from '../../src/cli/output/output';
import { properties } from '../../src/tables/table';
import { terminalTable } from '../../src/tables/terminal-table';
import { forTerminal, paint, visible, widthOf } from '../../src/tables/terminal-text';
import { transcript } from '../../src/cli/inspect/trajectory';
import { explain } from '../../src/errors/explain';
import { UsageError } from '../../src/errors/errors';
import { EnvironmentError } from '../../src/envs/contract/environment-error';

const hostile = 'a\u001b[2J\u001b]0;owned\u0007b\rc\u009b31m\u202ed\u2066\u200be\0\u007f\u{e0041}\ud800';
const shown = String.raw`a\x1b[2J\x1b]0;owned\x07b\rc\x9b31m\u202ed\u2066\u200be\x00\x7f\u{e0041}\ud800`;

/** Returns what `work` writes to a stream. */
function written(stream: NodeJS.WriteStream, work: () => void): string {
  const write = vi.spyOn(stream, 'write').mockReturnValue(true);
  work();
  const text = write.mock.calls.map(([chunk]) => String(chunk)).join('');
  write.mockRestore();
  return text;
}

const withoutColors = (text: string): string => text.replaceAll(/\p{Cc}\[\d+m/gu, '');

test('control characters, bidirectional marks and invisible characters are shown as escapes', () => {
  expect(visible(hostile)).toBe(shown);
  expect(visible(visible(hostile))).toBe(shown);
});

test.each(['two\nlines\twith a tab', 'ünïcödé 日本語 עברית', 'می‌خواهم', '👩‍🚀 ✓ … ·', ''])(
  'the text %j stays as it is',
  (text) => {
    expect(visible(text)).toBe(text);
  },
);

test('no text of any characters contains a control character afterwards', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => !/(?![\n\t])\p{Cc}/u.test(forTerminal(text))),
    { numRuns: 1_000 },
  );
});

test('our own colours reach the terminal, and a text within them has none', () => {
  const text = forTerminal(paint.green(`ok \u001b[31m ${hostile}`));
  expect(withoutColors(text)).toBe(String.raw`ok \x1b[31m ` + shown);
  expect(widthOf(paint.green('ok'))).toBe(2);
});

test('cells stay in their columns, also with colours, line breaks and escapes', () => {
  const rows = [{ name: paint.red('a'), text: 'one\ntwo\u001b[0m', n: 5 }];
  const lines = terminalTable(rows, properties('name', 'text', 'n')).split('\n');
  expect(lines.map(forTerminal).map(withoutColors)).toEqual([
    'name  text             n',
    String.raw`a     one\ntwo\x1b[0m  5`,
  ]);
});

const trajectory = {
  ...({ id: 't', outcome: 'scored', reward: 1, turnCount: 1, iteration: 1, purpose: 'train', taskId: 't' } as const),
  policyId: 'p',
  attempt: 0,
  seed: 1,
  stopReason: hostile,
  fault: null,
  opening: [{ role: hostile, content: hostile }],
  turns: [
    {
      action: hostile,
      observation: [{ role: 'tool', content: hostile }],
      bareAction: null,
      promptTokenIds: [],
      tokenIds: [],
    },
  ],
};

test('a transcript shows the escapes of models and environments as text', () => {
  const text = written(process.stdout, () => print(transcript(trajectory, [])));
  expect(text.split(shown)).toHaveLength(6);
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
});

test('an error message shows the escapes of a server as text', () => {
  expect(written(process.stderr, () => printMessage(explain(new UsageError(hostile))))).toBe(`${shown}\n`);
});

test('JSON keeps its values and contains no control character', () => {
  const value = { hostile, above: '\u009b31m \u007f \u{e0041} \u2028' };
  const text = written(process.stdout, () => printResult(true, value, () => ''));
  expect(JSON.parse(text)).toEqual(value);
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}]/u);
});

test("a server's text cannot forge a line of an error message", () => {
  const error = new EnvironmentError('fault', 'reset answered 500: x\n  next: evil\r\u2028next: evil');
  expect(
    explain(error)
      .split(/[\n\r\u2028]/)
      .filter((line) => line.includes('evil')),
  ).toHaveLength(1);
  expect(error.message).toBe('reset answered 500: x next: evil next: evil');
});

test('no command writes to the terminal past this function', () => {
  const folder = path.join(__dirname, '../../src/cli');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const writing = files.filter((file) =>
    /std(?:out|err)\.write|console\.|picocolors/.test(readFileSync(path.join(folder, file), 'utf8')),
  );
  expect(writing.sort()).toEqual(['output/output.ts']);
});
