import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const script = path.join(__dirname, '../../scripts/lint-promises.mjs');
const [ts, py] = ['test/kept.test.ts', 'trainer/tests/test_kept.py'];

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-promises-'));
  write('README.md', '**What it promises.** All of it:\n\n1. No row is lost.\n\n## Commands\n\n- none\n');
  write(
    'docs/durability.md',
    '| #   | killed |\n| --- | --- |\n| 1   | a worker |\n\n| lost | kept |\n| --- | --- |\n| 0 | 9 |\n',
  );
  write('docs/security.md', '| #   | attacker |\n| --- | --- |\n| 1   | a reader |\n');
  write(ts, "test('rows are kept', () => {});\n");
  write(py, 'def test_rows_are_kept() -> None:\n    pass\n');
  prove({});
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}

/** Writes the page of proofs; every row 1 has one by default. */
function prove(sections: Record<string, string>): void {
  const rows = { 'README.md': proof, 'docs/durability.md': proof, 'docs/security.md': proof, ...sections };
  const text = Object.entries(rows).map(([page, items]) => `## ${page}\n\n${items}\n`);
  write('docs/promises.md', text.join('\n'));
}

const proof = `1. \`${ts}\`: \`rows are\nkept\`.`;
const pythonProof = `1. \`${py}\`: \`test_rows_are_kept\`.`;

function lint(): { status: number | null; problems: string } {
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { status, problems: stderr };
}

test('rows with existing tests pass, also where a title is wrapped', () => {
  prove({ 'docs/durability.md': pythonProof });
  expect(lint()).toEqual({ status: 0, problems: '' });
});

test.each([
  [
    'a row without a proof',
    () => write('docs/security.md', '| #   | attacker |\n| --- | --- |\n| 1   | one |\n| 2   | two |\n'),
    'docs/promises.md: row 2 of docs/security.md has no proof',
  ],
  [
    'a proof of an unknown row',
    () => prove({ 'README.md': `${proof}\n2. \`${ts}\`: \`rows are kept\`.` }),
    'docs/promises.md: row 2 does not exist in README.md',
  ],
  [
    'a proof without a test',
    () => prove({ 'README.md': `1. \`${ts}\`.` }),
    'docs/promises.md: row 1 of README.md names no test, expected a file and a title',
  ],
  [
    'a file that does not exist',
    () => prove({ 'README.md': '1. `test/gone.test.ts`: `rows are kept`.' }),
    'docs/promises.md: row 1 of README.md: test/gone.test.ts does not exist',
  ],
  [
    'a title that does not exist',
    () => write(ts, "const title = 'rows are kept';\ntest.skip('rows are kept', () => {});\n"),
    `docs/promises.md: row 1 of README.md: ${ts} has no test "rows are kept"`,
  ],
  [
    'a section of an unknown page',
    () => prove({ 'docs/spec.md': proof }),
    'docs/promises.md: found a section docs/spec.md, expected one of README.md, docs/durability.md, docs/security.md',
  ],
  [
    'a promise without a number',
    () => write('README.md', '**What it promises.** All of it:\n\n1. No row is lost.\n- Fast.\n\n## Commands\n'),
    'README.md: found row -, expected row 2',
  ],
  [
    'a number that stands twice in two tables',
    () => write('docs/durability.md', '| # | a |\n| - | - |\n| 1 | x |\n\n| # | b |\n| - | - |\n| 1 | y |\n'),
    'docs/durability.md: found row 1, expected row 2',
  ],
])('%s is refused', (_title, change, problem) => {
  change();
  const { status, problems } = lint();
  expect(status).toBe(1);
  expect(problems.split('\n')).toContain(problem);
});

test.each([
  ['testOfAll', "testOfAll('rows are kept', () => {});"],
  ['testOfAll.each', "testOfAll.each([1])('rows are kept', () => {});"],
  ['describeOfAll', "describeOfAll('all', () => { describe('part', () => { test('rows are kept', () => {}); }); });"],
  ['a condition', "(runsAll ? test : test.skip)('rows are kept', () => {});"],
])('a row whose only tests are of npm run test:all by %s is refused with the tests that it has', (_way, source) => {
  write(ts, source);
  prove({ 'docs/durability.md': pythonProof, 'docs/security.md': pythonProof });
  expect(lint()).toEqual({
    status: 1,
    problems:
      'docs/promises.md: row 1 of README.md: `npm run test:all` alone runs its tests, expected one that `npm test` ' +
      `runs too:\n  ${ts}: rows are kept\n`,
  });
  const both = `${proof.slice(0, -1)}; ${pythonProof.slice(3)}`;
  prove({ 'README.md': both, 'docs/durability.md': pythonProof, 'docs/security.md': pythonProof });
  expect(lint()).toEqual({ status: 0, problems: '' });
});

test.each([
  [
    'function',
    '@pytest.mark.of_all\n@pytest.mark.parametrize(\n    "x", [1]\n)\ndef test_rows_are_kept(x) -> None:\n    pass\n',
  ],
  ['class', '@pytest.mark.of_all\nclass TestRows:\n    def test_rows_are_kept(self) -> None:\n        pass\n'],
  ['file', 'pytestmark = [pytest.mark.slow, pytest.mark.of_all]\n\n\ndef test_rows_are_kept() -> None:\n    pass\n'],
])('a mark of a Python %s counts for its tests, and for no other', (_place, source) => {
  prove({ 'README.md': pythonProof });
  write(py, source);
  expect(lint()).toMatchObject({
    status: 1,
    problems: expect.stringContaining(`runs too:\n  ${py}: test_rows_are_kept\n`),
  });
  write(
    py,
    '@pytest.mark.of_all\ndef test_other() -> None:\n    pass\n\n\ndef test_rows_are_kept() -> None:\n    pass\n',
  );
  expect(lint()).toEqual({ status: 0, problems: '' });
});
