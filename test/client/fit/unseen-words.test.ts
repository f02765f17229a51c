import { unseenWords } from '../../../src/client/fit/unseen-words';
import { resolveSpec } from '../../../src/specification/read-spec';

const specOf = (changes: object = {}) =>
  resolveSpec({ name: 'words', seed: 1, recipe: 'eto', environment: { name: 'any' }, ...changes }, 'words');
const tasks = (...actions: string[]) => actions.map((action) => ({ reference_actions: [action] }));
const train = tasks('take the cup', 'take the fork', ...Array.from({ length: 48 }, () => 'öffne kiste_1'));

test('held-out tasks whose actions need words of no train task are counted, from half of them on', () => {
  expect(unseenWords(specOf(), train, tasks('take the spoon', 'the fork take'))).toEqual([
    'policy.source: scratch writes words of its train tasks alone, and 1 of 2 held-out tasks of any need others ' +
      '(reference actions): these stay unsolved without more environment.trainTasks or an imported policy.model',
  ]);
  expect(unseenWords(specOf(), train, tasks('take the spoon', 'take fork', 'öffne cup'))).toEqual([]);
});

test('numbers and signs are no words, and words of other alphabets are', () => {
  expect(unseenWords(specOf(), train, tasks('take(the, 77)', 'kiste_9!'))).toEqual([]);
  expect(unseenWords(specOf(), train, tasks('возьми cup'))).toHaveLength(1);
});

test('nothing is said without reference actions or held-out tasks, of a pretrained model, or of imported experts', () => {
  const other = tasks('look');
  expect(unseenWords(specOf(), [], other)).toEqual([]);
  expect(unseenWords(specOf(), train.slice(1), other)).toEqual([]); // of a trial
  const none = train.map(() => ({ reference_actions: [] }));
  expect(unseenWords(specOf(), none, other)).toEqual([]);
  expect(unseenWords(specOf(), train, [])).toEqual([]);
  expect(unseenWords(specOf({ policy: { source: 'imported', model: 'm' } }), train, other)).toEqual([]);
  const experts = 'a'.repeat(64);
  expect(unseenWords(specOf({ environment: { name: 'any', experts } }), train, other)).toEqual([]);
});
