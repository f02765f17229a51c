import { copiesRun, isRepeating, isRepetition, sessionReplaced } from '../../../src/domain/tasks/repeated-actions';

/** Turns written as `action: observation`. */
const turnsOf = (...lines: string[]) =>
  lines.map((line) => {
    const [action = '', content = ''] = line.split(': ');
    return { action, observation: [{ role: 'user', content }] };
  });

test.each([
  ['the same query twice in a row', ['select 1: [(1,)]', 'select 1: [(1,)]']],
  ['a query of the same run in another case', ['select 1: [(1,)]', 'show tables: a', 'SELECT  1;: [(1,)]']],
  ['a failing action', ['open fridge: No known action', 'look: a room', 'open fridge: No known action']],
  ['a look at a world that nothing has changed', ['look: a room', 'inventory: nothing', 'look: a room']],
  ['an answer right after the same answer', ['select 1: [(1,)]', 'finish[1]: noted', 'finish[1]: noted']],
])('%s repeats an earlier action', (_, lines) => {
  expect(isRepetition(turnsOf(...lines))).toBe(true);
});

test.each([
  ['the first action', ['select 1: [(1,)]']],
  ['no action', []],
  ['waiting, whose observation is always the same', ['wait: You wait.', 'wait: You wait.', 'wait1: You wait.']],
  ['a look at a world that has changed', ['look: cold water', 'activate stove: on', 'look: hot water']],
  ['the same answer to another question', ['a: 1', 'finish[1]: noted', 'b: 1', 'finish[1]: noted']],
  ['a query with another result', ["insert into t values ('a'): ok", 'select 1: [(1,)]', 'select 1: [(2,)]']],
])('%s repeats nothing', (_, lines) => {
  expect(isRepetition(turnsOf(...lines))).toBe(false);
});

test('a run repeats itself after two repetitions in a row, and not with a new action between them', () => {
  expect(isRepeating(turnsOf('a: 1', 'a: 1'))).toBe(false);
  expect(isRepeating(turnsOf('a: 1', 'a: 1', 'a: 1'))).toBe(true);
  expect(isRepeating(turnsOf('a: 1', 'b: 2', 'a: 1', 'b: 2'))).toBe(true);
  expect(isRepeating(turnsOf('a: 1', 'a: 1', 'b: 2', 'a: 1'))).toBe(false);
  expect(isRepeating(turnsOf('look: cold', 'wait: You wait.', 'look: cold', 'wait: You wait.', 'look: cold'))).toBe(
    false,
  );
});

test('a run copies an earlier one if its actions are the first ones of that run or all of them', () => {
  const earlier = turnsOf('show tables: a', 'select 1: [(1,)]', 'select 2: [(2,)]');
  expect(copiesRun(turnsOf('show tables: a', '```sql\nselect  1;\n```: [(1,)]'), earlier)).toBe(true);
  expect(copiesRun(earlier, earlier)).toBe(true);
  expect(copiesRun([...earlier, ...turnsOf('select 3: [(3,)]')], earlier)).toBe(false);
  expect(
    copiesRun(turnsOf("select name from t where a = 'X': x"), turnsOf("select name from t where a = 'x': x")),
  ).toBe(false);
  expect(copiesRun([], earlier)).toBe(false);
});

test('a fresh session is walked through again without repetitions, and is not ended again and again', () => {
  const ended = (action: string) => ({
    action,
    observation: [{ role: 'user', content: 'over' }, sessionReplaced],
  });
  const walk = turnsOf('open door: open', 'go north: a hall');
  expect(isRepeating([...walk, ended('focus on lamp'), ...walk])).toBe(false);
  expect(isRepetition([...walk, ended('focus on lamp'), ...walk, ...turnsOf('go north: a hall')])).toBe(true);
  expect(isRepeating([...walk, ended('submit'), ended('submit')])).toBe(false);
  expect(isRepeating([...walk, ended('submit'), ended('submit'), ended('submit')])).toBe(true);
});
