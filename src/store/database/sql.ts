/** A statement with its values in the order of their placeholders, as `pg` takes it. */
export class Statement {
  constructor(
    readonly text: string,
    readonly values: unknown[],
  ) {}
}

/** A part of a statement that is SQL, not a value. It never contains input of a user. */
class Fragment {
  constructor(readonly text: string) {}
}

/**
 * Inserts trusted SQL, for example a list of columns, into a statement.
 *
 * @throws TypeError the text has placeholders, which would refer to values of the whole statement
 */
export function raw(text: string | number): Fragment {
  if (/\$\d/.test(String(text))) throw new TypeError(`found placeholders, expected a nested statement: ${text}`);
  return new Fragment(String(text));
}

/**
 * Builds a statement in which every value stands where it is used and is bound as a parameter. A statement among the
 * parts becomes a part of the text, with its values.
 */
export function sql(texts: TemplateStringsArray, ...parts: readonly unknown[]): Statement {
  const values: unknown[] = [];
  const textOf = (part: unknown): string => {
    if (part instanceof Fragment) return part.text;
    if (!(part instanceof Statement)) return `$${values.push(part)}`;
    const before = values.length;
    values.push(...part.values);
    return part.text.replaceAll(/\$(\d+)/g, (_, number: string) => `$${before + Number(number)}`);
  };
  return new Statement(
    texts.reduce((before, after, i) => before + textOf(parts[i - 1]) + after),
    values,
  );
}
