import { nearestExamples, nearestGoals } from '../../../src/domain/tasks/nearest-goals';

const goals = ['Name every pet.', 'Count the ships in Oslo.', 'Count the ships.', 'Count the ships.', 'Book a flight.'];

test('the goals with the most words in common come first, each once', () => {
  expect(nearestGoals(goals, 'Count all ships.', 2)).toEqual(['Count the ships.', 'Count the ships in Oslo.']);
});

test('the order does not depend on the order of the pool', () => {
  expect(nearestGoals([...goals].reverse(), 'Sail.', 9)).toEqual(nearestGoals(goals, 'Sail.', 9));
});

describe('examples', () => {
  const tasks = [
    { goal: 'Count the ships', actions: ['select count(*) from ship', 'submit'] },
    { goal: 'Count the large ships', actions: ['select count(*) from ship where large', 'submit'] },
    { goal: 'Name the ports', actions: ['select name from port', 'submit'] },
    { goal: 'Count the boats', actions: [] },
  ];

  test('are the nearest tasks that have actions, without the task itself and without an end that all have', () => {
    expect(nearestExamples(tasks, 'Count the ships', 1)).toEqual([tasks[1]]); // one example shows no common end
    expect(nearestExamples(tasks, 'Count the ships', 4)).toEqual([
      { goal: 'Count the large ships', actions: ['select count(*) from ship where large'] },
      { goal: 'Name the ports', actions: ['select name from port'] },
    ]);
    expect(nearestExamples(tasks, 'Count the ships', 0)).toEqual([]);
  });

  test('keep their last actions where these differ, or are their only ones', () => {
    const ends = ['finish[1]', 'finish[2]'].map((end, n) => ({ goal: `Count ${n}`, actions: ['look', end] }));
    expect(nearestExamples(ends, 'Count', 4)).toEqual(ends);
    const single = ['a', 'b'].map((goal) => ({ goal, actions: ['look'] }));
    expect(nearestExamples(single, 'c', 4)).toEqual(single);
  });
});
