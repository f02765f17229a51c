import { InvalidArgumentError } from 'commander';

/** Returns a reader of an option that is an integer from `min` to `max`. */
export const integerIn =
  (min: number, max: number) =>
  (input: string): number => {
    const value = Number(input);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected an integer in ${min}..${max}`);
  };
