import { judgeText } from '../../../src/cli/output/judge-text';
import { countVerdicts, isTrusted, measureTrust } from '../../../src/domain/evaluation/judge-calibration';

/** The newest calibration of a judge that answers by a rule on twelve right and twelve corrupted runs. */
function calibrated(verdict: (corrupted: boolean, n: number) => boolean | null) {
  const items = [false, true].flatMap((corrupted) =>
    Array.from({ length: 12 }, (_, n) => ({ corrupted, completed: verdict(corrupted, n) })),
  );
  const counts = countVerdicts(items);
  const trust = measureTrust(counts);
  const shown = { iteration: 2, judgeVersion: 'j', agreement: trust.agreement, counts, minimumAgreement: 0.7 };
  return judgeText('c', { ...shown, isTrusted: isTrusted({ counts }, 0.7) });
}

test('a judge that can be trusted is shown with its agreement', () => {
  expect(calibrated((corrupted, n) => (corrupted ? n === 0 : true))).toBe(
    'the judge approves 12 of 12 right runs and 1 of 12 corrupted ones in the calibration of iteration 2: agreement 0.96 (0.80 to 0.99)',
  );
});

test.each([
  ['always yes', () => true, 'approves everything', '12 of 12 right runs and 12 of 12 corrupted ones'],
  ['always no', () => false, 'refuses everything', '0 of 12 right runs and 0 of 12 corrupted ones'],
  [
    'a coin',
    (_: boolean, n: number) => n % 2 === 0,
    'is right no more often than chance allows',
    '6 of 12 right runs and 6 of 12 corrupted ones',
  ],
  ['no verdict', () => null, 'gives too few usable answers', '0 of 0 right runs and 0 of 0 corrupted ones'],
  [
    'no verdict on right runs',
    (corrupted: boolean) => (corrupted ? false : null),
    'gives too few usable answers',
    '0 of 0 right runs and 0 of 12 corrupted ones',
  ],
])('a judge that is %s needs attention, with the command that lists its answers', (_, verdict, fault, found) => {
  const line = calibrated(verdict);
  expect(line).toMatch(`needs attention: the judge ${fault} and is not trusted: the judge approves ${found}`);
  expect(line).toMatch('with judge.minimumAgreement 0.7; its votes admit nothing: `coevolve calls c --role judge`');
});
