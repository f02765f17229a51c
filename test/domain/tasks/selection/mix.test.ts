import * as fc from 'fast-check';
import { mix } from '../../../../src/domain/tasks/selection/mix';

const tasksOf = (kinds: string) => kinds.split('').map((kind, id) => ({ id, isSynthesized: kind === 's' }));
const kindsOf = (tasks: ReturnType<typeof tasksOf>) =>
  tasks.map(({ isSynthesized }) => (isSynthesized ? 's' : 'h')).join('');

test.each([
  { ordered: 'sshhhhhh', size: 5, share: 0.2, drawn: 'shhhh' },
  { ordered: 'hsshsssh', size: 4, share: 0.5, drawn: 'hssh' },
  { ordered: 'ssss', size: 4, share: 0.5, drawn: '' },
  { ordered: 'sssshh', size: 6, share: 0.5, drawn: 'sshh' },
  { ordered: 'ssssh', size: 3, share: 1, drawn: 'sss' },
  { ordered: 'shshs', size: 9, share: 0, drawn: 'hh' },
])('of $ordered, $size with at most $share synthesized are $drawn', ({ ordered, size, share, drawn }) => {
  expect(kindsOf(mix(tasksOf(ordered), size, share))).toBe(drawn);
});

test('the share holds, the order stays, and no more could be drawn', () => {
  const kinds = fc.array(fc.constantFrom('s', 'h'), { maxLength: 40 }).map((all) => all.join(''));
  fc.assert(
    fc.property(
      kinds,
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (all, size, share) => {
        const ordered = tasksOf(all);
        const drawn = mix(ordered, size, share);
        const synthesized = drawn.filter(({ isSynthesized }) => isSynthesized).length;
        expect(synthesized).toBeLessThanOrEqual(share * drawn.length + 1e-6);
        expect(drawn).toEqual(ordered.filter((task) => drawn.includes(task)));
        const seeds = ordered.filter(({ isSynthesized }) => !isSynthesized).length;
        expect(drawn.length).toBeGreaterThanOrEqual(Math.min(size, seeds));
        expect(drawn.length).toBeLessThanOrEqual(size);
      },
    ),
    { numRuns: 1000 },
  );
});
