import { murmur3 } from '../../random/murmur3';
import { ngramsOf, tokenize } from './ngrams';

/** Encodes texts as unit vectors of one dimension. Only vectors of encoders with the same name are comparable. */
export type SentenceEncoder = { name: string; encode(text: string): number[] };

/**
 * Encoder without a model: distinct words and word pairs of a text, hashed into 512 counts and scaled to length 1
 * (feature hashing, Weinberger et al. 2009, without signs, so that no text gives the zero vector). It measures shared
 * words, not meaning. A text without words is hashed as a whole.
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

/** Returns no pair for a text of one word, unlike `ngramsOf`, which returns the word itself. */
const pairsOf = (words: readonly string[]): Set<string> => (words.length < 2 ? new Set() : ngramsOf(words, 2));

/** Scales a vector to Euclidean length 1; returns the zero vector unchanged. */
export function toUnit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? [...vector] : vector.map((value) => value / length);
}
