import { z } from 'zod';
import { keyRules, type KeyRule } from './key-rules';
import contract from './trainer-contract.json';

type Declared = typeof contract.settings;

/** A choice has text as its default; a number that can be null has `nullable`. */
type SchemaOf<Setting> = z.ZodDefault<
  Setting extends { default: string }
    ? z.ZodEnum<Record<string, string>>
    : Setting extends { nullable: boolean }
      ? z.ZodNullable<z.ZodNumber>
      : z.ZodNumber
>;

type Texts<Method extends keyof Declared> = Partial<Record<keyof Declared[Method], string>>;

/** Schemas of a method's settings by their names. */
export type TrainerKeys<Method extends keyof Declared, Described> = {
  [Name in keyof Described & keyof Declared[Method]]: SchemaOf<Declared[Method][Name]>;
};

/**
 * Returns the schemas of the described settings of a method. Their types, ranges, choices and defaults are declared in
 * `trainer/src/coevolve_trainer/settings.py`: `python -m coevolve_trainer contract > src/specification/trainer-contract.json`.
 */
export const trainerKeys = <Method extends keyof Declared, Described extends Texts<Method>>(
  method: Method,
  descriptions: Described & Record<Exclude<keyof Described, keyof Declared[Method]>, never>,
  rules: { [Name in keyof Described]?: KeyRule } = {},
) =>
  Object.fromEntries(
    Object.entries(descriptions).map(([name, text]) => {
      const setting = (contract.settings[method] as Record<string, DeclaredSetting>)[name]!;
      const schema = schemaOf(setting).default(setting.default).describe(text);
      return [name, schema.register(keyRules, (rules as Record<string, KeyRule>)[name] ?? {})];
    }),
  ) as TrainerKeys<Method, Described>;

type DeclaredSetting = {
  default: string | number | null;
  integer?: boolean;
  nullable?: boolean;
  low?: number;
  high?: number;
  choices?: string[];
};

function schemaOf({ integer = false, nullable = false, low, high, choices }: DeclaredSetting): z.ZodType {
  if (choices) return z.enum(choices);
  const number = (integer ? z.number().int() : z.number()).min(low!).max(high!);
  return nullable ? number.nullable() : number;
}
/** Returns the schema of a number from `low` to `high`. */
export const number = (low: number, high: number) => z.number().min(low).max(high);

/** Returns the schema of an integer from `low` to `high`. */
export const integer = (low: number, high: number) => z.number().int().min(low).max(high);

/** Returns the schema of one of the values. */
export const choice = <const Values extends readonly string[]>(values: Values) => z.enum(values);

export const unit = number(0, 1);
export const whole = z.number().int().min(0);
export const count = z.number().int().min(1);
export const flag = z.boolean();
