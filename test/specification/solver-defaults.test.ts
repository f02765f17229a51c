import { readFileSync } from 'node:fs';
import path from 'node:path';
import { forkSpec } from '../../src/specification/fork-spec';
import { estimateModels } from '../../src/specification/estimate-models';
import { readStoredSpec, resolveSpec } from '../../src/specification/read-spec';

const model = { provider: 'p', model: 'm', price: { inputPerMillion: 1, outputPerMillion: 2 } };
const llm = { models: { explorer: model } };
const specOf = (changes: object) =>
  resolveSpec({ name: 'c', seed: 1, recipe: 'combined', environment: { name: 'e' }, ...changes }, 'test');

test.each([
  ['a model writes the queries', { llm }, 'solvable', 2],
  ['the number of attempts is given', { llm, synthesis: { solverAttempts: 5 } }, 'solvable', 5],
  ['the rule alone is given', { llm, synthesis: { rule: 'solvable' } }, 'solvable', 2],
  ['attempts are refused', { llm, synthesis: { solverAttempts: 0 } }, 'by-author', 0],
  ['another rule is given', { llm, synthesis: { rule: 'by-author' } }, 'by-author', 0],
  ['the judge must agree', { llm, synthesis: { rule: 'agreed' } }, 'agreed', 0],
  ['nothing is validated', { llm, synthesis: { validation: 'off' } }, 'by-author', 0],
  ['the generator writes the queries', {}, 'by-author', 0],
])('where %s, the rule is %s', (_name, changes, rule, solverAttempts) => {
  expect(specOf(changes).synthesis).toMatchObject({ rule, solverAttempts });
});

test('a stored spec keeps its rule, also in a fork', () => {
  const stored = { ...specOf({ llm, synthesis: { rule: 'by-author' } }), name: 'old' };
  expect(readStoredSpec(stored).synthesis).toMatchObject({ rule: 'by-author', solverAttempts: 0 });
  const fork = forkSpec(stored, { name: 'new', iteration: 1, changes: ['judge.minimumAgreement=0.9'] });
  expect(fork.synthesis).toMatchObject({ rule: 'by-author', solverAttempts: 0 });
  const lines = readFileSync(path.join(__dirname, 'released/0.1.0.jsonl'), 'utf8').trim().split('\n');
  for (const line of lines) {
    const released = { ...(JSON.parse(line) as { synthesis: object }), llm };
    const kept = { rule: 'by-author', solverAttempts: 0, minActions: 1, targetActions: null, examples: 0 };
    expect(readStoredSpec(released).synthesis).toMatchObject(kept);
  }
});

test.each([
  [
    'no model writes',
    { synthesis: { minActions: 2 } },
    'synthesis.minActions: found 2, expected nothing: without an llm',
  ],
  ['no run is as long', { llm, synthesis: { minActions: 19 } }, 'synthesis.minActions: found 19, expected at most 18'],
  [
    'the target is below the floor',
    { llm, synthesis: { minActions: 3, targetActions: 2 } },
    'synthesis.targetActions: found 2, expected at least 3',
  ],
])('a length of tasks is refused where %s', (_name, changes, message) => {
  expect(() => specOf(changes)).toThrow(message);
});

test('the estimate has the calls of the solver', () => {
  const calls = (changes: object): number => estimateModels(specOf({ llm, ...changes }), null)!.calls;
  expect(calls({})).toBeGreaterThan(calls({ synthesis: { rule: 'by-author' } }));
});
