import { promptCases } from '../../../src/prompt-eval/cases';
import type { AbstractedTask } from '../../../src/domain/tasks/exploration';
import { judgeByAnswers, type KnownAnswers } from './reference-judge';
import { requestKind } from './sql-explorer';
import type { ModelRequest, Rule } from './scripted-model';

/** Two requests per case of `coevolve prompts eval`, with the query that answers each. */
const undertakings: Record<string, readonly [query: string, sql: string][]> = {
  'forgetting-group': [
    ['What is the average age of all singers?', 'SELECT AVG(age) FROM singer'],
    ['How many seats does the largest stadium have?', 'SELECT MAX(capacity) FROM stadium'],
  ],
  'forgetting-most-common': [
    ['Report the highest sales of any song.', 'SELECT MAX(sales) FROM song'],
    ['Of the singers, how many were born after 1950?', 'SELECT COUNT(*) FROM singer WHERE birth_year > 1950'],
  ],
  'boundary-order': [
    ['Add up the products of every shop.', 'SELECT SUM(number_products) FROM shop'],
    ['How old is the oldest employee?', 'SELECT MAX(age) FROM employee'],
  ],
  'boundary-exclusion': [
    ['Tell me the number of concerts.', 'SELECT COUNT(*) FROM concert'],
    ['Which lowest attendance of a stadium is the smallest?', 'SELECT MIN(lowest) FROM stadium'],
  ],
  'rare-nested': [
    ['In which year was the first orchestra founded?', 'SELECT MIN(year_of_founded) FROM orchestra'],
    ['Count how many nationalities conductors have.', 'SELECT COUNT(DISTINCT nationality) FROM conductor'],
  ],
  'rare-two-conditions': [
    ['Give the smallest net worth in millions.', 'SELECT MIN(net_worth_millions) FROM singer'],
    ['What average highest position do songs reach?', 'SELECT AVG(highest_position) FROM song'],
  ],
};

/** A query that every run tries, and that fails. */
export const failingQuery = 'SELECT nothing_of_this_name';

export type Change = (candidates: AbstractedTask[]) => unknown;

/**
 * Model that answers every request of `coevolve prompts eval` well: a function of the request. `change` replaces the list of
 * candidates of each abstraction, or its whole answer if it returns a text.
 */
export const caseSolver =
  (seeds: KnownAnswers, change: Change = (candidates) => candidates): Rule =>
  (request) => {
    switch (requestKind(request)) {
      case 'reflection':
        return reflection;
      case 'exploration':
        return nextAction(request);
      case 'abstraction': {
        const changed = change(candidatesOf(request));
        return typeof changed === 'string' ? changed : JSON.stringify({ candidates: changed });
      }
      case 'wording':
      case 'solving':
      case 'other':
        return judgeByAnswers(async (question) => [...(await seeds(question)), ...answersOf(question.goal)])(request);
    }
  };

const answersOf = (goal: string): string[][] =>
  Object.values(undertakings)
    .flat()
    .filter(([query]) => query === goal)
    .map(([, sql]) => [sql, 'submit']);

function ofCase({ messages }: ModelRequest): readonly [query: string, sql: string][] {
  const text = messages.map(({ content }) => content).join('\n');
  const opening = /<session-opening>\n([^]*?)\n<\/session-opening>/.exec(text)![1]!;
  return undertakings[promptCases.find(({ task }) => opening.includes(task))!.name]!;
}

function nextAction(request: ModelRequest): string {
  const [[, first], [, second]] = ofCase(request) as [[string, string], [string, string]];
  const step = request.messages.filter(({ role }) => role === 'assistant').length;
  const actions = [first, failingQuery, second, 'submit']; // then again in the next session
  return `I look closer.\n<action>${actions[step % actions.length]!}</action>`;
}

const candidatesOf = (request: ModelRequest): AbstractedTask[] =>
  ofCase(request).map(([query, sql]) => ({
    description: `Answers: ${query}`,
    query,
    actions: [sql],
    confidence: 0.9,
    completionCriterion: 'The answer holds the rows that the query returns.',
  }));

const reflection = JSON.stringify({
  summary: 'The agent read the wrong rows.',
  failureCause: 'Its condition was another one.',
  instabilityPattern: 'none',
  focusPatterns: ['aggregates'],
  explorationObjectives: ['look for extremes of every table'],
  doNotRepeat: [],
});
