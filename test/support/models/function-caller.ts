import { askedFor } from './sql-explorer';
import type { ModelRequest, Rule } from './scripted-model';

/**
 * A model that explores bfcl: it calls the functions that it is shown and that need no argument, from one on that its
 * seed names, and makes a task of each call that worked, and of each two in a row. What asks for something else is left
 * to `others`.
 */
export const functionCaller =
  (others: Rule = () => undefined): Rule =>
  (request) => {
    switch (askedFor(request)) {
      case 'exploration':
        return nextCall(request);
      case 'abstraction':
        return abstract(request);
      case 'reflection':
        return reflect();
      case 'other':
        return others(request);
    }
  };

type ShownFunction = { name: string; parameters: { required?: string[] } };

function nextCall({ messages, body }: ModelRequest): string {
  const free = shownFunctions(messages[0]!.content).filter(({ parameters }) => !parameters.required?.length);
  const place = Number(body['seed']) % free.length; // a run adds 1 per action to its seed
  return `[${free[place]!.name}()]`;
}

const shownFunctions = (text: string): ShownFunction[] =>
  (JSON.parse(/Functions: (\[.*\])$/m.exec(text)![1]!) as (ShownFunction | { function: ShownFunction })[]).map(
    (tool) => ('function' in tool ? tool.function : tool),
  );

function abstract({ messages, model }: ModelRequest): string {
  const steps = messages[1]!.content.matchAll(/^\[(\d+\.\d+)\] action:\n(.*)\n\[\1\] observation:\n(.*)$/gm);
  const worked = [...steps].filter(([, , , observation]) => !observation!.includes('rror'));
  const calls = worked.map(([, , action]) => action!);
  const pairs = calls.slice(1).map((call, place) => [calls[place]!, call]);
  const candidates = [...calls.map((call) => [call]), ...pairs].map((actions) => ({
    ...{ description: `Calls ${actions.length}.`, query: `Please do ${actions.join(' and ')}.`, actions },
    ...{ confidence: 0.9, completionCriterion: `${model} has seen it` },
  }));
  return JSON.stringify({ candidates });
}

const reflect = (): string =>
  JSON.stringify({
    ...{ summary: 'The agent called nothing that was asked for.', failureCause: 'It did not read the functions.' },
    ...{ instabilityPattern: 'none', focusPatterns: ['calls without arguments'] },
    ...{ explorationObjectives: ['call every function once'], doNotRepeat: ['calls of functions that are not there'] },
  });
