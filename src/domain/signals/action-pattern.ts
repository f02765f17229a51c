import { actionName } from './action-name';
import { compareText } from '../base/compare-text';

/**
 * How a trajectory's action names become patterns. The choice decides what is rare: whole sequences nearly all are,
 * sets of names seldom.
 *
 * - `whole`: the one sequence of all names
 * - `bigram`, `trigram`: every run of two or three names; a shorter trajectory is its own one pattern
 * - `name-set`: the names that occur, each once, in alphabetical order
 */
export type PatternExtractor = 'whole' | 'bigram' | 'trigram' | 'name-set';

export const patternExtractors: readonly PatternExtractor[] = ['whole', 'bigram', 'trigram', 'name-set'];

/**
 * The patterns of one trajectory, in order, repeated as often as they occur; arguments are normalised away.
 *
 * @returns none for a trajectory without actions
 */
export function actionPatterns(actions: readonly string[], extractor: PatternExtractor): string[] {
  return actions.length === 0 ? [] : extract[extractor](actions.map(actionName));
}

const extract: Record<PatternExtractor, (names: readonly string[]) => string[]> = {
  whole: (names) => [sequence(names)],
  bigram: (names) => runs(names, 2),
  trigram: (names) => runs(names, 3),
  'name-set': (names) => [[...new Set(names)].sort(compareText).join(' | ')],
};

function runs(names: readonly string[], length: number): string[] {
  if (names.length <= length) return [sequence(names)];
  return names.slice(length - 1).map((_, i) => sequence(names.slice(i, i + length)));
}

function sequence(names: readonly string[]): string {
  return names.join(' > ');
}
