import * as fc from 'fast-check';
import { admit, type Decision } from '../../../../src/domain/tasks/admission/admit';
import {
  admissionReasons,
  type AdmissionRules,
  type Candidate,
} from '../../../../src/domain/tasks/admission/candidate';
import { hashedNgrams } from '../../../../src/domain/tasks/admission/sentence-encoder';
import { ngramsOf, tokenize } from '../../../../src/domain/tasks/admission/ngrams';
import { anyGoal, candidate, known, rules } from './candidates';

const outcomes = (decisions: readonly Decision[]) =>
  Object.fromEntries(decisions.map(({ id, outcome, reason }) => [id, reason ?? outcome]));

describe('for any candidates, admission', () => {
  const anyTask = fc.record({ goal: anyGoal(), contentKey: fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7') });
  const anyPool = fc
    .array(anyTask, { maxLength: 5 })
    .map((tasks) => tasks.map((task, i) => ({ ...known(`p${i}`, task), vector: hashedNgrams.encode(task.goal) })));
  const anyCandidates = fc.array(
    fc.record({
      task: anyTask,
      aim: fc.constantFrom('boundary', 'rare'),
      refusal: fc.option(fc.constant('empty-result'), { freq: 9 }),
      played: fc.boolean(),
      reward: fc.constantFrom(null, 0, 0.5, 1, 1, 1),
      completed: fc.constantFrom(true, false, null),
      author: fc.constantFrom('generator', 'model'),
    }),
    { maxLength: 25 },
  );
  const candidatesOf = anyCandidates.map((made) =>
    made.map(({ task, aim, refusal, played, reward, completed, author }, n) =>
      candidate(`synthesized/1/${aim}/${n}`, {
        ...task,
        aim,
        author,
        refusal,
        execution: { played, reward },
        judgement: { completed, reason: '' },
        vector: hashedNgrams.encode(task.goal),
      }),
    ),
  );
  const anyRules: fc.Arbitrary<AdmissionRules> = fc
    .record({
      validation: fc.constantFrom('on', 'off'),
      rule: fc.constantFrom('by-author', 'paper', 'strict', 'agreed', 'solvable'),
      similarity: fc.constantFrom(0.5, 0.9, 1),
      share: fc.constantFrom(0, 0.5, 1),
      floor: fc.constantFrom(0, 0.2),
      embedded: fc.boolean(),
      quota: fc.option(fc.integer({ min: 1, max: 4 })),
      growthCap: fc.option(fc.integer({ min: 1, max: 6 })),
    })
    .map(({ similarity, share, floor, quota, ...rest }) =>
      rules({
        ...rest,
        duplicates: { similarity, cosine: 0.9 },
        decontamination: { ngram: 4, share, cosine: 0.9 },
        diversity: { floor, neighbours: 3 },
        quotaOf: () => quota,
      }),
    );

  const property = (check: (made: ReturnType<typeof admitAll>) => void) =>
    fc.assert(
      fc.property(candidatesOf, anyPool, anyPool, anyRules, (candidates, pool, heldOut, settings) => {
        check(
          admitAll({ candidates, pool, heldOut: heldOut.map((task) => ({ ...task, id: `h${task.id}` })), settings }),
        );
      }),
      { numRuns: 300 },
    );

  function admitAll(input: {
    candidates: ReturnType<typeof candidate>[];
    pool: ReturnType<typeof known>[];
    heldOut: ReturnType<typeof known>[];
    settings: AdmissionRules;
  }) {
    const decisions = admit(input.candidates, input.pool, input.heldOut, input.settings);
    const byId = new Map(input.candidates.map((each) => [each.id, each]));
    const admitted = decisions.filter(({ outcome }) => outcome === 'admitted').map(({ id }) => byId.get(id)!);
    return { ...input, decisions, admitted };
  }

  test('decides each candidate once, with an admission reason or the reason of the environment', () => {
    property(({ candidates, decisions }) => {
      expect(decisions.map(({ id }) => id).sort()).toEqual(candidates.map(({ id }) => id).sort());
      for (const { outcome, reason } of decisions) {
        if (outcome === 'admitted') expect(reason).toBeNull();
        else expect([...admissionReasons, 'empty-result']).toContain(reason);
      }
    });
  });

  test('admits no two candidates with equal content or text, and none that equals a task of the pool', () => {
    property(({ admitted, pool }) => {
      const tasks = [...admitted, ...dedupe(pool)];
      const fresh = admitted.map(({ contentKey }) => contentKey);
      expect(new Set(fresh).size).toBe(fresh.length);
      for (const { contentKey, goal } of pool)
        for (const task of admitted) expect([task.contentKey, task.goal]).not.toEqual([contentKey, goal]);
      expect(new Set(tasks.map(({ contentKey }) => contentKey)).size).toBe(tasks.length);
      expect(new Set(admitted.map(({ goal }) => goal)).size).toBe(admitted.length);
    });
  });

  const dedupe = <T extends { contentKey: string }>(tasks: readonly T[]): T[] => [
    ...new Map(tasks.map((task) => [task.contentKey, task])).values(),
  ];

  test('admits no candidate with the content of a held-out task or with too many of its n-grams', () => {
    property(({ admitted, heldOut, settings: { decontamination } }) => {
      for (const { goal, contentKey } of admitted)
        for (const task of heldOut) {
          expect(task.contentKey).not.toBe(contentKey);
          const [grams, heldOutGrams] = [goal, task.goal].map((text) =>
            ngramsOf(tokenize(text), decontamination.ngram!),
          );
          const share = [...grams!].filter((gram) => heldOutGrams!.has(gram)).length / grams!.size;
          expect(share === 0 || share < decontamination.share).toBe(true);
        }
    });
  });

  test('never exceeds the growth cap or a quota', () => {
    property(({ admitted, settings }) => {
      expect(admitted.length).toBeLessThanOrEqual(settings.growthCap ?? Infinity);
      for (const aim of ['boundary', 'rare'])
        expect(admitted.filter((each) => each.aim === aim).length).toBeLessThanOrEqual(
          settings.quotaOf(aim) ?? Infinity,
        );
    });
  });

  test('makes the same decisions for any order of the rows', () => {
    property(({ candidates, pool, heldOut, settings, decisions }) => {
      const reversed = admit([...candidates].reverse(), [...pool].reverse(), [...heldOut].reverse(), settings);
      expect(reversed).toEqual(decisions);
    });
  });

  test('ignores the judge if the environment scored a candidate whose replay is enough', () => {
    property(({ candidates, pool, heldOut, settings, decisions }) => {
      const denied = candidates.map((each) =>
        each.execution.reward === null || needsJudge(each, settings)
          ? each
          : { ...each, judgement: { completed: false, reason: 'no' } },
      );
      expect(outcomes(admit(denied, pool, heldOut, settings))).toEqual(outcomes(decisions));
    });
  });

  test('admits no candidate whose rule needs a judge without its approval and, if there is a checker, a reward of 1', () => {
    property(({ admitted, settings }) => {
      for (const each of admitted)
        if (settings.validation === 'on' && needsJudge(each, settings)) {
          expect(each.judgement!.completed).toBe(true);
          expect([1, null]).toContain(each.execution.reward);
        }
    });
  });

  const needsJudge = ({ author }: Candidate, { rule }: AdmissionRules): boolean =>
    rule === 'agreed' || (rule === 'by-author' && author === 'model');
});
