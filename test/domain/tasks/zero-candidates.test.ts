import { zeroCandidates } from '../../../src/domain/tasks/zero-candidates';

const settings = { hasModels: true, candidatesPerSignal: 4, aims: 'signals' };
const none = {
  candidates: 0,
  signals: 3,
  flagged: 2,
  unflagged: 1,
  contexts: 4,
  unreflected: 0,
  unexplored: 0,
  unabstracted: 0,
};
const losses = { iteration: 2, ...none, reflection: null, exploration: null, abstraction: null };
const malformed = 'malformed: found no JSON object, expected one';

test.each([
  [{}, { signals: 0, flagged: 0, contexts: 0 }, /^no attempt raised a signal/],
  [{ candidatesPerSignal: 0 }, { contexts: 0 }, /^synthesis\.candidatesPerSignal is 0$/],
  [{}, { flagged: 0, contexts: 0 }, /^the tasks that 3 signals flag are no longer in the pool$/],
  [{ aims: 'shuffled' }, { unflagged: 0 }, /^`synthesis\.aims: shuffled` found no played task without a flag$/],
  [{ hasModels: false }, {}, /^the environment's generator has no other variant of the 2 flagged tasks$/],
  [{ hasModels: false }, { iteration: 0, signals: 0 }, /^the environment's generator made no task$/],
  [{}, { contexts: 0 }, /contextsPerSignal sets their number$/],
  [
    {},
    { unreflected: 4, reflection: malformed },
    /^the reflector gave no usable answer for all 4 explored attempts \(malformed: [^)]+\): `coevolve calls mine --role reflector`$/,
  ],
  [{}, { unexplored: 4, exploration: 'no' }, /^the explorer took no action for all 4 explored attempts \(no\)/],
  [{ iteration: 0 }, { iteration: 0, signals: 0, unabstracted: 4 }, /^the abstractor gave no usable answer for all 4/],
  [{}, {}, /^the abstractor wrote no task for all 4 explored attempts: `coevolve calls mine --role abstractor`$/],
  [
    {},
    { unreflected: 3 },
    /^the reflector [^;]+ for 3 of 4 explored attempts[^;]+; the abstractor wrote no task for 1 of 4/,
  ],
])('with the settings %j and the losses %j the one cause is named', (changed, lost, expected) => {
  const found = { ...losses, ...lost };
  const [begin, cause] = zeroCandidates('mine', { ...settings, ...changed }, found).split(/(?<=iteration \d: )/);
  expect(begin).toBe(`no candidates in iteration ${found.iteration}: `);
  expect(cause).toMatch(expected);
});
