/** A statement with its values in the order of their placeholders, as `pg` takes it. */
export type Statement = { text: string; values: unknown[] };

/** A part of a statement that is SQL, not a value. It never contains input of a user. */
class Fragment {
  constructor(readonly text: string) {}
}

/** Inserts trusted SQL, for example a list of columns, into a statement. */
export const raw = (text: string | number): Fragment => new Fragment(String(text));

/** Builds a statement in which every value stands where it is used and is bound as a parameter. */
export function sql(texts: TemplateStringsArray, ...parts: unknown[]): Statement {
  const values: unknown[] = [];
  const text = texts.reduce((before, after, i) => {
    const part = parts[i - 1];
    return before + (part instanceof Fragment ? part.text : `$${values.push(part)}`) + after;
  });
  return { text, values };
}
