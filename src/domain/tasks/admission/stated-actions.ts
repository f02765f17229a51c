import { bareAction } from '../../rollout/bare-action';
import { tokenize } from './ngrams';

/** Shorter actions, such as `open door`, also occur in a request that a user would write. */
const minWords = 4;

/**
 * Returns an action that a query states, or undefined: the query is that action, is all the actions, or contains an
 * action of at least `minWords` words, word for word and in any punctuation. Such a query asks for nothing but what it
 * gives away, and every checker and judge agrees with it.
 */
export function statedAction(query: string, actions: readonly string[]): string | undefined {
  const asked = wordsOf(query);
  if (asked.trim() === '') return undefined;
  if (asked === wordsOf(actions.map(bareAction).join(' '))) return actions[0];
  return actions.find((action) => {
    const words = tokenize(bareAction(action));
    const stated = ` ${words.join(' ')} `;
    return words.length > 0 && (asked === stated || (words.length >= minWords && asked.includes(stated)));
  });
}

const wordsOf = (text: string): string => ` ${tokenize(text).join(' ')} `;
