import { duration, shortHash, table } from '../../../src/cli/output/output';

test('columns are as wide as their widest cell and numbers are aligned to the right', () => {
  expect(
    table(
      ['name', 'n'],
      [
        ['a', 5],
        ['longer', 1000],
      ],
    ),
  ).toBe('name       n\na          5\nlonger  1000');
});

test('null is a dash and lines have no trailing spaces', () => {
  expect(
    table(
      ['n', 'reason'],
      [
        [1, null],
        [null, 'x'],
      ],
    ),
  ).toBe('n  reason\n1  -\n-  x');
});

test.each([
  { seconds: 0.04, text: '0.0 s' },
  { seconds: 9.96, text: '10 s' },
  { seconds: 42.4, text: '42 s' },
  { seconds: 59.6, text: '1 min 0 s' },
  { seconds: 61, text: '1 min 1 s' },
  { seconds: 119.8, text: '2 min 0 s' },
  { seconds: 3599.9, text: '1 h 0 min' },
  { seconds: 7_260, text: '2 h 1 min' },
])('$seconds seconds are formatted as $text', ({ seconds, text }) => {
  expect(duration(seconds)).toBe(text);
});

test('a short hash has the first twelve digits', () => {
  expect(shortHash('0123456789abcdef')).toBe('0123456789ab');
});
