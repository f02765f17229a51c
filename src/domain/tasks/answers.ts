/** The same rules as `server/answers.py` of the environment server, for tasks composed in third-party servers. */

/** Words of the longest answer that can be compared; a longer one has too many equal forms. */
const maxWords = 20;

const clause = String.raw`(?:^|[.;:!,]\s+|\n\s*|\b(?:and|then|please|to)\s+)`;
const verbs =
  'tell|report|answer|respond|reply|state|name|say|list|inform|find out|figure out|determine|identify|count' +
  '|calculate|compute|work out|measure|check (?:if|whether|how|what|which)|give the|give me the|what|how|who' +
  '|where|when|which|is there|are there';
const asking = new RegExp(
  String.raw`\?|\b(?:tell (?:me|us)|let me know|how (?:many|much)|(?:want|need|like) to know)\b|${clause}(?:${verbs})\b`,
  'i',
);

/** True if a request needs an answer. Text in quotes, such as a title, does not count. */
export const asks = (request: string): boolean => asking.test(request.replaceAll(/"[^"]*"|“[^”]*”/g, ''));

/** True if an answer has no content but that the work is done. */
export function saysNothing(answer: string): boolean {
  const words = wordsOf(answer);
  return words.length === 0 || (words.some((word) => done.has(word)) && words.every((word) => isDone(word)));
}

const isDone = (word: string): boolean => done.has(word) || fillers.has(word);

/** True if the answer is short enough, and has content beside words that fill a sentence. */
export function isComparable(answer: string): boolean {
  const words = wordsOf(answer);
  return words.length > 0 && words.length <= maxWords;
}

/**
 * True if two answers have the same content, in any case, order of words and spelling of numbers. The given one may repeat
 * words of the request, unless the expected answer is a choice among them.
 */
export function isSameAnswer(expected: string, given: string, request: string): boolean {
  const asked = new Set(wordsOf(request).map(singular));
  const wanted = contentOf(wordsOf(expected));
  const isChoice = wanted.some((word) => asked.has(word));
  const found = contentOf(wordsOf(given)).filter((word) => isChoice || wanted.includes(word) || !asked.has(word));
  return wanted.toSorted().join(' ') === found.toSorted().join(' ');
}

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/-?\d[\d,]*(?:\.\d+)?|\p{L}+/gu) ?? []).map((token) => {
    if (/\d$/.test(token)) return String(Number(Number(token.replaceAll(',', '')).toPrecision(10)));
    const number = numberWords.indexOf(token);
    return number < 0 ? token : String(number);
  });

const singular = (word: string): string => (/[^s]s$/.test(word) && word.length > 3 ? word.slice(0, -1) : word);

function contentOf(words: readonly string[]): readonly string[] {
  const content = words.filter((word) => !fillers.has(word)).map(singular);
  return content.length > 0 ? content : words;
}

const numberWords = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const fillers = new Set(
  (
    'a an the is are was were it its this that there here of in on at to by with and has have my your you i ' +
    'answer result degrees degree deg celsius c s currently now exactly total'
  ).split(' '),
);
const done = new Set('done ok okay finished complete completed success successful successfully task ready'.split(' '));
