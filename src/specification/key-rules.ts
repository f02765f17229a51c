import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { RecipeName } from '../domain/campaign/recipe';
import { innermost, shown } from '../input/describe-issue';
import { isSection } from '../input/merge';

type Compute = 'engine' | 'device' | 'sharding' | 'kernels' | 'compile';

/**
 * The values that decide which keys of a spec have an effect. It is not inferred from the schema of the spec, because
 * the schema contains the rules.
 */
export type Deciders = {
  name: string;
  recipe: RecipeName;
  iterations: number;
  replica: number;
  start: string;
  rollouts: { tasksPerStep: number | null; stepsPerIteration: number | null };
  signals: { forgetting: { score: string } };
  llm: object | null;
  synthesis: {
    initialTasks: number | null;
    aims: string;
    match: string | null;
    validation: string;
    rule: string;
    solverAttempts: number;
    grader: string;
    minActions: number | null;
    targetActions: number | null;
    abstraction: string;
    exploration: { maxTurns: number };
  };
  judge: { calibrationTasks: number; whenUntrusted: string };
  pool: { strategy: string; window: number; retirement: { patience: number } | null };
  policy: { source: string; model: string | null; id: string | null };
  compute: Record<Compute, string> & { processes: number; pricePerGpuHour: number };
};

/** Rules of a key that depend on other keys. Each stands beside its key, in the schema. */
export type KeyRule = {
  /** Returns true if nothing in the campaign reads the key. Its value is then left out of the settings that are shown. */
  unreadIf?: (spec: Deciders) => boolean;
  /** Returns why the key has no effect, or false. A value other than the default is then refused. */
  idleIf?: (spec: Deciders) => string | false;
  /** Returns the value that is expected instead of the one of the spec, with the reason; false if the value is right. */
  expects?: (spec: Deciders) => string | false;
};

/** The rules by the schemas of their keys. */
export const keyRules = z.registry<KeyRule>();

/** Returns the rules of a key, which may be optional. */
export const rulesOf = (schema: z.core.$ZodType): KeyRule =>
  keyRules.get(schema) ?? (schema instanceof z.ZodOptional ? rulesOf(schema.unwrap()) : {});

/** Returns the keys of a section with their schemas. */
export function schemasOf(section: z.core.$ZodType): Record<string, z.core.$ZodType> {
  const schema = innermost(section);
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** Asks a rule; undefined if its answer depends on values that are unknown. */
type Ask = <Answer>(rule: (spec: Deciders) => Answer) => Answer | undefined;

/** Returns one line per key of a section whose value breaks a rule of the key. */
export const brokenRules = (section: z.core.$ZodType, values: unknown, ask: Ask, at = ''): string[] =>
  isSection(values)
    ? Object.entries(schemasOf(section)).flatMap(([key, schema]) => {
        const found = values[key];
        const expected = Object.hasOwn(values, key) && expectedOf(schema, found, ask);
        const line = `${at}${key}: found ${isSection(found) ? 'a section' : shown(found)}, expected ${expected}`;
        return [...(expected ? [line] : []), ...brokenRules(schema, found, ask, `${at}${key}.`)];
      })
    : [];

function expectedOf(schema: z.core.$ZodType, found: unknown, ask: Ask): string | false {
  const { expects, idleIf } = rulesOf(schema);
  const expected = expects && ask(expects);
  if (expected) return expected;
  const usual = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
  const why = idleIf && !isDeepStrictEqual(found, usual) && ask(idleIf);
  return why ? `${typeof usual === 'string' ? usual : shown(usual)}: ${why}` : false;
}
