import { murmur3 } from '../../base/murmur3';
import { ngramsOf, tokenize } from './ngrams';

/** Turns texts into unit vectors of one dimension; the name says which vectors may be compared. */
export type SentenceEncoder = { name: string; encode(text: string): number[] };

/**
 * The encoder that needs no model: the words and pairs of neighbouring words of a text, each once, hashed into 512
 * counts and scaled to length 1 (feature hashing, Weinberger et al. 2009, without signs, so that no text is the zero
 * vector). It sees shared wording, not meaning. A text without words is hashed as it stands.
 */
export const hashedNgrams: SentenceEncoder = {
  name: 'hashed-ngrams@1',
  encode(text) {
    const words = tokenize(text);
    const features = words.length === 0 ? [text] : [...ngramsOf(words, 1), ...pairsOf(words)];
    const counts = Array.from({ length: dimension }, () => 0);
    for (const feature of features) counts[murmur3(feature, 0) % dimension]! += 1;
    return toUnit(counts);
  },
};

const dimension = 512;

/** Unlike runs of one, a run of two is none at all in a text of one word. */
const pairsOf = (words: readonly string[]): Set<string> => (words.length < 2 ? new Set() : ngramsOf(words, 2));

/** The vector scaled to Euclidean length 1; the zero vector as it is. */
export function toUnit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? [...vector] : vector.map((value) => value / length);
}
