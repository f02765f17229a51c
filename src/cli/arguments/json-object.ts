import { InvalidArgumentError } from 'commander';
import { isSection } from '../../input/merge';
import { parseExact } from '../../input/exact-json';

/** Parses the options of an environment, a JSON object. */
export function jsonObject(input: string): Record<string, unknown> {
  const parsed = parseExact(input);
  if ('value' in parsed && isSection(parsed.value)) return parsed.value;
  const problem = 'problem' in parsed ? `${parsed.problem}; ` : '';
  throw new InvalidArgumentError(`${problem}expected a JSON object such as {"source":"wheel"}`);
}
