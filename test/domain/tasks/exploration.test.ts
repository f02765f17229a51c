import * as fc from 'fast-check';
import { executedActions, explorationSize, shareOf, undertakings } from '../../../src/domain/tasks/exploration';

const settings = fc.record({
  initialTasks: fc.option(fc.nat(500)),
  candidatesPerSignal: fc.nat(500),
  exploration: fc.record({ contextsPerSignal: fc.integer({ min: 1, max: 50 }) }),
});

test('without signals, the candidates and contexts are those of all signals that flag a task', () => {
  fc.assert(
    fc.property(
      settings,
      fc.array(fc.nat(60), { maxLength: 3 }),
      fc.integer({ min: 1, max: 9 }),
      (given, flagged, iteration) => {
        const random = explorationSize({ aim: 'random', iteration, flagged }, given);
        const each = explorationSize({ aim: 'rare', iteration, flagged }, given);
        const firing = flagged.filter((tasks) => tasks > 0);
        expect(random.candidates).toBe(each.candidates * firing.length);
        expect(random.contexts).toBe(firing.reduce((sum, tasks) => sum + Math.min(each.contexts, tasks), 0));
      },
    ),
  );
});

test.each([
  { initialTasks: 100, size: { candidates: 200, contexts: 25 } }, // N_init of the paper
  { initialTasks: 10, size: { candidates: 20, contexts: 8 } },
  { initialTasks: 2, size: { candidates: 4, contexts: 4 } },
  { initialTasks: null, size: { candidates: 0, contexts: 0 } },
])('a first pool of $initialTasks tasks needs $size.contexts contexts', ({ initialTasks, size }) => {
  const given = { initialTasks, candidatesPerSignal: 100, exploration: { contextsPerSignal: 8 } };
  expect(explorationSize({ aim: 'random', iteration: 0, flagged: [] }, given)).toEqual(size);
});

test('shares are integers, differ by at most 1 and sum to the total', () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.integer({ min: 1, max: 200 }), (total, parts) => {
      const shares = Array.from({ length: parts }, (_, index) => shareOf(total, parts, index));
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(total);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    }),
  );
});

describe('the actions of a candidate', () => {
  const executed = [
    '```sql\nselect  a\nfrom t;\n```',
    'Thought: now.\nAction: select b from t',
    '[f(x=1)]',
    "select ' '",
  ];

  test.each([
    { written: 'select a from t', found: executed[0] },
    { written: 'select b from t;', found: executed[1] },
    { written: '```\n[f(x=1)]\n```', found: executed[2] },
  ])('"$written" is found as it was executed', ({ written, found }) => {
    expect(executedActions([written], executed)).toEqual({ actions: [found] });
  });

  test.each(['select c from t', '[f(x=2)]', '[F(x="1")]', ''])('"%s" was never executed', (written) => {
    expect(executedActions(['[f(x=1)]', written], executed)).toEqual({ unseen: written });
  });

  test('an action is found in another case, except in quotes, and an equal one is preferred', () => {
    const runs = ["Select DISTINCT name from t where a = 'X'", 'getAll()', 'getall()'];
    expect(executedActions(["SELECT distinct NAME FROM t WHERE a = 'X';", 'getall()', 'GetAll()'], runs)).toEqual({
      actions: [runs[0], 'getall()', 'getAll()'],
    });
    const other = "select distinct name from t where a = 'x'";
    expect(executedActions([other], runs)).toEqual({ unseen: other });
  });

  test('any sequence of executed actions is returned unchanged', () => {
    const runs = fc.array(fc.stringMatching(/^[a-z]{1,8}(\([a-z0-9]{0,5}\))?$/), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(runs, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), (done, indices) => {
        const chosen = indices.map((index) => done[index % done.length]!);
        expect(executedActions(chosen, done)).toEqual({ actions: chosen });
      }),
    );
  });
});

describe('undertakings', () => {
  const run = (...actions: string[]) => actions.map((action) => ({ action }));
  const found = (length: number, known: string[][] = []) =>
    undertakings([run('look', 'finish[2]', 'Take lamp', 'look'), run('take  lamp;', 'go')], {
      length,
      known,
    }).map((steps) => steps.map(({ action }) => action).join(' > '));

  test('each new action of the runs is one, an answer is none', () => {
    expect(found(1)).toEqual(['look', 'Take lamp', 'go']);
  });

  test('longer ones are consecutive actions of one run', () => {
    expect(found(2)).toEqual(['look > Take lamp', 'Take lamp > look', 'take  lamp; > go']);
    expect(found(5)).toEqual([]);
  });

  test('known solutions are left out, also with the action that ends their session', () => {
    expect(found(1, [['LOOK'], ['take lamp', 'submit'], ['go', 'north', 'submit']])).toEqual(['go']);
  });
});
