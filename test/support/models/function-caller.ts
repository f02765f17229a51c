import type { KnownAnswers } from './reference-judge';
import { requestKind } from './sql-explorer';
import type { ModelRequest, Rule } from './scripted-model';

/**
 * Model that explores bfcl: it calls the shown functions without required arguments, starting at the function of its
 * seed, and makes a task of each successful call and of each two consecutive ones. Other requests go to `others`.
 */
export const functionCaller =
  (others: Rule = () => undefined): Rule =>
  (request) => {
    switch (requestKind(request)) {
      case 'exploration':
        return nextCall(request);
      case 'abstraction':
        return abstract(request);
      case 'reflection':
        return reflect();
      case 'wording':
      case 'solving':
      case 'other':
        return others(request);
    }
  };

type ShownFunction = { name: string; parameters: { required?: string[] } };

function nextCall({ messages, body }: ModelRequest): string {
  const free = shownFunctions(messages[0]!.content).filter(({ parameters }) => !parameters.required?.length);
  const index = Number(body['seed']) % free.length; // the seed of a run grows by 1 per action
  return `[${free[index]!.name}()]`;
}

const shownFunctions = (text: string): ShownFunction[] =>
  (JSON.parse(/^functions: (\[.*\])$/m.exec(text)![1]!) as (ShownFunction | { function: ShownFunction })[]).map(
    (tool) => ('function' in tool ? tool.function : tool),
  );

function abstract({ messages, model }: ModelRequest): string {
  const steps = messages[1]!.content.matchAll(/^\[(\d+\.\d+)\] action:\n(.*)\n\[\1\] observation:\n(.*)$/gm);
  const worked = [...steps].filter(([, , , observation]) => !observation!.includes('rror'));
  const calls = worked.map(([, , action]) => action!);
  const pairs = calls.slice(1).map((call, index) => [calls[index]!, call]);
  const candidates = [...calls.map((call) => [call]), ...pairs].map((actions) => ({
    description: `Calls ${actions.length}.`,
    query: `Please do ${actions.join(' and ')}.`,
    actions,
    confidence: 0.9,
    completionCriterion: `${model} has observed it`,
  }));
  return JSON.stringify({ candidates });
}

/** Known answers to the queries of `functionCaller`: the calls that a query names, and the end of the turn. */
export const calledAnswers: KnownAnswers = ({ goal }) => {
  const calls = goal.startsWith('Please do [') ? (goal.match(/\[[^\]]*\]/g) ?? []) : [];
  return calls.length > 0 ? [[...calls, 'Done.']] : [];
};

const reflect = (): string =>
  JSON.stringify({
    summary: 'The agent called none of the requested functions.',
    failureCause: 'It did not read the functions.',
    instabilityPattern: 'none',
    focusPatterns: ['calls without arguments'],
    explorationObjectives: ['call every function once'],
    doNotRepeat: ['calls of unknown functions'],
  });
