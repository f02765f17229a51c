import { z } from 'zod';
import { canonicalJson } from '../domain/canonical-json';
import { groupBy } from '../domain/group-by';
import { integer, number } from './key-types';

const setSchema = z.strictObject({
  tasks: integer(0, 5_000)
    .nullable()
    .default(null)
    .describe('Number of tasks. null: half of environment.heldOutTasks for test; dev has the rest of them.'),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Options of the environment that replace those of `environment.options` for this set's tasks."),
});

/** Evaluation sets. Choices read dev alone; the other sets are scored and reported. */
export const evaluationSettingsSchema = z.strictObject({
  sets: z
    .object({
      dev: setSchema.prefault({}).describe('Tasks that choices read: the promotion gate, tuning.'),
      test: setSchema.prefault({}).describe('Tasks that are scored and reported, and that no choice reads.'),
    })
    .catchall(setSchema)
    .prefault({})
    .describe('Named sets of held-out tasks: dev, test, and more that are reported like test.'),
  temperature: number(0, 5).default(0).describe('Sampling temperature of the attempts at held-out tasks.'),
  /** Has no default in the resolved spec, so that specs, cells and experiments without it keep their hashes. */
  attempts: integer(1, 64)
    .optional()
    .describe(
      'Attempts at each held-out task, each with a seed of its own (default 1); a task counts with their mean.',
    ),
  confidence: number(0.5, 0.999).default(0.95).describe('Level of the stored intervals.'),
});

/** Attempts at each held-out task. */
export const evaluationAttempts = ({ evaluation }: Pick<Evaluated, 'evaluation'>): number => evaluation.attempts ?? 1;

type Evaluated = {
  iterations?: number | undefined;
  environment: { heldOutTasks: number; options: Record<string, unknown> };
  evaluation: z.output<typeof evaluationSettingsSchema>;
};

/** An evaluation set with its number of tasks, and the options of the environment that its tasks are drawn with. */
export type EvaluationSet = { name: string; tasks: number; options: Record<string, unknown> };

/** Returns the sets that have tasks, dev first. `environment.heldOutTasks` is divided into dev and test. */
export function evaluationSets({ environment, evaluation }: Evaluated): EvaluationSet[] {
  const { dev, test, ...others } = evaluation.sets;
  const ofTest = test.tasks ?? Math.floor(environment.heldOutTasks / 2);
  const sized = [
    { name: 'dev', tasks: environment.heldOutTasks - ofTest, ...pickOptions(dev) },
    { name: 'test', tasks: ofTest, ...pickOptions(test) },
    ...Object.entries(others).map(([name, set]) => ({ name, tasks: set.tasks ?? 0, ...pickOptions(set) })),
  ];
  return sized
    .filter(({ tasks }) => tasks > 0)
    .map(({ options, ...set }) => ({ ...set, options: { ...environment.options, ...options } }));
}

/** Sets with equal options, which are divided from one draw of `tasks` tasks. `key`: the spec's key of their number. */
export type EvaluationDraw = { key: string; tasks: number; options: Record<string, unknown>; sets: EvaluationSet[] };

export const evaluationDraws = (spec: Evaluated): EvaluationDraw[] =>
  [...groupBy(evaluationSets(spec), ({ options }) => canonicalJson(options)).values()].map((sets) => ({
    key: sets[0]!.name === 'dev' ? 'environment.heldOutTasks' : `evaluation.sets.${sets[0]!.name}.tasks`,
    tasks: sets.reduce((total, { tasks }) => total + tasks, 0),
    options: sets[0]!.options,
    sets,
  }));

const pickOptions = ({ options }: z.output<typeof setSchema>) => ({ options });

/** Returns one line per set with a wrong name or number of tasks. */
export function wrongSets({ environment: { heldOutTasks }, evaluation: { sets }, iterations }: Evaluated): string[] {
  const { dev, test, ...others } = sets;
  const at = (name: string, found: number | string | null, expected: string): string =>
    `evaluation.sets.${name}: found ${found ?? 'nothing'}, expected ${expected}`;
  return [
    ...(dev.tasks === null
      ? []
      : [at('dev.tasks', dev.tasks, 'nothing: dev has the environment.heldOutTasks that test leaves')]),
    ...(test.tasks !== null && test.tasks >= heldOutTasks + Number(iterations === 0) // without a gate, dev may be empty
      ? [at('test.tasks', test.tasks, `fewer than the ${heldOutTasks} of environment.heldOutTasks: dev has the rest`)]
      : []),
    ...Object.entries(others).flatMap(([name, { tasks }]) => [
      ...(setName.test(name) ? [] : [at(JSON.stringify(name), 'this name', 'lower-case letters, digits and hyphens')]),
      ...(tasks ? [] : [at(`${name}.tasks`, tasks, 'at least 1')]),
    ]),
  ];
}

const setName = /^[a-z0-9][a-z0-9-]{0,31}$/;
