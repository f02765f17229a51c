import { judgeByAnswers, type KnownAnswers } from './reference-judge';
import { requestKind } from './sql-explorer';
import type { ModelRequest, Rule } from './scripted-model';

/** A request with actions that fulfil it. */
export type Undertaking = { query: string; actions: readonly string[] };

/**
 * Models that explore the environment of their name: a run carries out the undertakings of a table, beginning with the one
 * of its seed, and each whose actions were seen becomes a candidate. They judge candidates by the same table. Questions
 * about attempts and requests to other models go to `others`.
 */
export const worldExplorer =
  (tables: Readonly<Record<string, readonly Undertaking[]>>, others: Rule, seeds: KnownAnswers): Rule =>
  (request) => {
    const table = tables[request.model];
    if (!table || /\/judge\/attempt\//.test(request.id!)) return others(request);
    switch (requestKind(request)) {
      case 'exploration':
        return nextAction(request, table);
      case 'abstraction':
        return abstract(request, table);
      case 'reflection':
        return reflection;
      case 'wording':
      case 'solving':
      case 'other':
        return judgeByAnswers(async (question) => [...answersOf(table)(question.goal), ...(await seeds(question))])(
          request,
        );
    }
  };

function nextAction({ messages, body }: ModelRequest, table: readonly Undertaking[]): string {
  const step = messages.filter(({ role }) => role === 'assistant').length;
  const first = (Number(body['seed']) - step) % table.length; // the seed of a run grows by 1 per action
  const actions = [...table.slice(first), ...table.slice(0, first)].flatMap((undertaking) => undertaking.actions);
  return actions[step % actions.length]!;
}

function abstract({ messages }: ModelRequest, table: readonly Undertaking[]): string {
  const text = messages[1]!.content;
  const seen = table.filter(({ actions }) => actions.every((action) => text.includes(`action:\n${action}\n`)));
  const candidates = seen.map(({ query, actions }) => ({
    description: query,
    query,
    actions,
    confidence: 0.9,
    completionCriterion: 'the actions were carried out',
  }));
  return JSON.stringify({ candidates });
}

/** The actions of the query's undertaking, with any end that no action of the table has. */
const answersOf =
  (table: readonly Undertaking[]) =>
  (goal: string): string[][] =>
    table.filter(({ query }) => query === goal).flatMap(({ actions }) => ends.map((end) => [...actions, ...end]));

const ends = [[], ['finish[]'], ['Done.'], ['```python\napis.supervisor.complete_task()\n```']];

const reflection = JSON.stringify({
  summary: 'The agent did something else.',
  failureCause: 'It did not read the task.',
  instabilityPattern: 'none',
  focusPatterns: ['short undertakings'],
  explorationObjectives: ['carry out whole undertakings'],
  doNotRepeat: ['nothing'],
});
