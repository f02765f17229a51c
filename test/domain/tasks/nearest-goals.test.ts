import { nearestGoals } from '../../../src/domain/tasks/nearest-goals';

const goals = ['Name every pet.', 'Count the ships in Oslo.', 'Count the ships.', 'Count the ships.', 'Book a flight.'];

test('the goals with the most words in common come first, each once', () => {
  expect(nearestGoals(goals, 'Count all ships.', 2)).toEqual(['Count the ships.', 'Count the ships in Oslo.']);
});

test('the order does not depend on the order of the pool', () => {
  expect(nearestGoals([...goals].reverse(), 'Sail.', 9)).toEqual(nearestGoals(goals, 'Sail.', 9));
});
