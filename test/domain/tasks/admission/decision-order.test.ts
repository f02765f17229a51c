import * as fc from 'fast-check';
import { candidateTaskId } from '../../../../src/domain/campaign/ids';
import { inDecisionOrder } from '../../../../src/domain/tasks/admission/admit';

const made = (aim: string, ordinal: number | string) => ({ id: candidateTaskId(1, aim, ordinal), aim });

test('aims alternate, and candidates of one aim follow the numbers in their ids', () => {
  const candidates = [made('rare', 10), made('rare', 2), made('boundary', 0), made('rare', 1), made('boundary', 1)];
  expect(inDecisionOrder(candidates).map(({ id }) => id)).toEqual([
    'synthesized/1/boundary/0',
    'synthesized/1/rare/1',
    'synthesized/1/boundary/1',
    'synthesized/1/rare/2',
    'synthesized/1/rare/10',
  ]);
});

test('candidates of explorations are ordered by context and number', () => {
  const ids = ['3.10', '3.2', '12.0', '3.1'].map((ordinal) => made('rare', ordinal));
  expect(inDecisionOrder(ids).map(({ id }) => id.split('/').at(-1))).toEqual(['3.1', '3.2', '3.10', '12.0']);
});

test('the order does not depend on the input order and contains each candidate once', () => {
  const anyCandidates = fc.uniqueArray(
    fc.tuple(fc.constantFrom('forgetting', 'boundary', 'rare', 'random'), fc.nat(30)).map(([aim, n]) => made(aim, n)),
    { selector: ({ id }) => id },
  );
  fc.assert(
    fc.property(
      anyCandidates.chain((all) => fc.tuple(fc.constant(all), shuffled(all))),
      ([all, other]) => {
        const ordered = inDecisionOrder(all);
        expect(inDecisionOrder(other)).toEqual(ordered);
        expect(new Set(ordered)).toEqual(new Set(all));
        expect(ordered).toHaveLength(all.length);
      },
    ),
  );
});

const shuffled = <T>(items: T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length });

test('if every aim could fill the cap alone, the counts of the aims differ by at most 1', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), (cap) => {
      const aims = ['boundary', 'forgetting', 'rare'];
      const candidates = aims.flatMap((aim) => Array.from({ length: 30 }, (_, n) => made(aim, n)));
      const taken = inDecisionOrder(candidates).slice(0, cap);
      const counts = aims.map((aim) => taken.filter((candidate) => candidate.aim === aim).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }),
  );
});
