import * as fc from 'fast-check';
import { admit } from '../../../../src/domain/tasks/admission/admit';
import type { AdmissionRules, KnownTask } from '../../../../src/domain/tasks/admission/candidate';
import {
  comparedHeldOut,
  comparedInPool,
  type ComparedTasks,
} from '../../../../src/domain/tasks/admission/compared-tasks';
import { hashedNgrams } from '../../../../src/domain/tasks/admission/sentence-encoder';
import { pagesOf } from '../../../../src/domain/pages';
import { anyGoal, candidate, known, rules } from './candidates';

/** Vectors of few values, so that many are equally near; without `isDense`, those of hashed n-grams. */
const vectorOf = (goal: string, isDense: boolean): number[] =>
  isDense ? [3, 2, 1].map((n) => ((goal.length % 4) + n) / 9) : hashedNgrams.encode(goal);

type AnyTask = { goal: string; contentKey: string; id: string; isDense: boolean };

const anyTask: fc.Arbitrary<Omit<AnyTask, 'isDense'>> = fc.record({
  goal: fc.oneof(anyGoal(), fc.constantFrom('?', '? !', 'Show the  name', 'show THE name', 'show show show show')),
  contentKey: fc.integer({ min: 0, max: 30 }).map((n) => `content ${n}`),
  id: fc.constantFrom('a', 'b', 'é', '\u{FFFD}', '\u{1F600}'),
});

const tasksOf = (tasks: readonly Omit<AnyTask, 'isDense'>[], isDense: boolean): KnownTask[] =>
  tasks.map((task, n) =>
    known(`${task.id}${n}`, { ...task, id: `${task.id}${n}`, vector: vectorOf(task.goal, isDense) }),
  );

const anyRules: fc.Arbitrary<AdmissionRules> = fc
  .record({
    similarity: fc.constantFrom(0, 0.3, 0.5, 0.9, 1),
    cosine: fc.constantFrom(0.5, 0.97, 1),
    ngram: fc.constantFrom(null, 1, 2, 4, 8),
    share: fc.constantFrom(0, 0.5, 1),
    floor: fc.constantFrom(0, 0.1, 0.5),
    neighbours: fc.constantFrom(1, 2, 5),
    embedded: fc.boolean(),
  })
  .map(({ similarity, cosine, ngram, share, floor, neighbours, embedded }) =>
    rules({
      duplicates: { similarity, cosine },
      decontamination: { ngram, share, cosine },
      diversity: { floor, neighbours },
      embedded,
    }),
  );

function foundIn(compared: ComparedTasks, tasks: readonly KnownTask[], pageSize: number): KnownTask[] {
  for (const page of pagesOf(tasks, pageSize)) for (const _ of compared.read(page));
  return compared.found();
}

test('with the compared tasks alone, admission makes the same decisions, with equal trails, as with all tasks', () => {
  const anyTasks = fc.array(anyTask, { maxLength: 40 });
  fc.assert(
    fc.property(
      fc.record({ candidates: anyTasks, pool: anyTasks, heldOut: anyTasks, settings: anyRules }),
      fc.record({ pageSize: fc.integer({ min: 1, max: 50 }), isDense: fc.boolean() }),
      ({ candidates, pool, heldOut, settings }, { pageSize, isDense }) => {
        const made = tasksOf(candidates, isDense).map((task) =>
          candidate(`made ${task.id}`, { ...task, id: `made ${task.id}` }),
        );
        const [poolTasks, heldOutTasks] = [tasksOf(pool, isDense), tasksOf(heldOut, isDense)];
        const decisions = admit(
          made,
          foundIn(comparedInPool(made, settings), poolTasks, pageSize),
          foundIn(comparedHeldOut(made, settings), heldOutTasks, pageSize),
          settings,
        );
        expect(decisions).toEqual(admit(made, poolTasks, heldOutTasks, settings));
      },
    ),
    { numRuns: 1000 },
  );
});

test('of a large pool, few tasks are compared', () => {
  const goals = Array.from(
    { length: 3000 },
    (_, n) => `Count the visitors that came to museum ${n} in the year ${n % 200}.`,
  );
  const pool = goals.map((goal, n) => known(`p${n}`, { goal }));
  const made = [7, 1200].map((n) => candidate(`made ${n}`, { goal: `${goals[n]!} Or not?` }));
  expect(foundIn(comparedInPool(made, rules()), pool, 500).map(({ id }) => id)).toEqual(['p7', 'p1200']);
});
