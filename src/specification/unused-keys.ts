import type { z } from 'zod';
import { defaultForgettingSettings } from '../domain/signals/detect-forgetting';
import { growsPool, isReinforcement, recipes } from '../domain/campaign/recipe';
import type { campaignSpecSchema } from './campaign-spec';
import { synthesizes } from './iteration-plan';
import { absurdRates } from './learning-rates';
import { uselessReuse } from './nondeterminism';
import { unclearLengths } from './training-settings';
import { wrongSets } from './evaluation-settings';
import { defaultRefills } from './synthesis-settings';

type Spec = z.output<typeof campaignSpecSchema>;

/**
 * Returns one line per key that has no effect or that needs another key.
 *
 * @param broken sections with other mistakes, whose values are unknown: the checks that read them are skipped
 */
export const unusedKeys = (spec: Spec, broken: ReadonlySet<string> = new Set()): string[] =>
  checks.filter(({ reads }) => !reads.some((section) => broken.has(section))).flatMap(({ find }) => find(spec));

const checks: readonly { reads: readonly (keyof Spec)[]; find: (spec: Spec) => string[] }[] = [
  { reads: ['recipe', 'pairs'], find: idleWeights },
  { reads: ['recipe', 'rollouts'], find: idleRollouts },
  { reads: ['recipe', 'llm', 'budget', 'synthesis', 'compute'], find: idleModels },
  { reads: ['recipe', 'synthesis'], find: idleAims },
  { reads: ['synthesis', 'llm', 'judge'], find: missingJudge },
  { reads: ['synthesis', 'llm'], find: idleSolver },
  { reads: ['pool'], find: idlePool },
  { reads: ['signals'], find: idleForgetting },
  { reads: ['policy', 'start'], find: idlePolicy },
  { reads: ['policy', 'start', 'iterations', 'recipe'], find: idleStored },
  { reads: ['policy', 'training'], find: ({ policy, training }) => absurdRates(policy, training, policy.parameters) },
  { reads: ['compute'], find: (spec) => [...idleCompute(spec), ...uselessReuse(spec)] },
  { reads: ['recipe', 'compute'], find: unusableEngine },
  { reads: ['training', 'iterations', 'recipe'], find: idleSchedules },
  { reads: ['training'], find: ({ training }) => unclearLengths(training) },
  { reads: ['replica', 'iterations', 'recipe'], find: idleReplica },
  { reads: ['environment', 'evaluation'], find: wrongSets },
];

function idleWeights({ recipe, pairs }: Spec): string[] {
  const method = recipes[recipe].training.find(({ role }) => role === 'target')?.method;
  if (method !== 'dpo') return [];
  return Object.entries(pairs.target).flatMap(([kind, settings]) =>
    (['lambdaDpo', 'lambdaSft'] as const)
      .filter((weight) => settings[weight] !== undefined)
      .map(
        (weight) =>
          `pairs.target.${kind}.${weight}: found ${settings[weight]}, expected nothing: ${recipe} trains only by DPO`,
      ),
  );
}

function idleRollouts({ recipe, rollouts }: Spec): string[] {
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = rollouts;
  if (!isReinforcement(recipes[recipe]))
    return unusedRollouts({ tasksPerStep, stepsPerIteration }, `${recipe} has no RL steps`);
  return [
    ...unusedRollouts({ tasksPerIteration }, `${recipe} draws rollouts.tasksPerStep tasks in each step`),
    ...Object.entries({ tasksPerStep, stepsPerIteration })
      .filter(([, found]) => found === null)
      .map(([key]) => `rollouts.${key}: found nothing, expected a number: ${recipe} trains in RL steps`),
  ];
}

const unusedRollouts = (keys: Record<string, number | null>, why: string): string[] =>
  Object.entries(keys)
    .filter(([, found]) => found !== null)
    .map(([key, found]) => `rollouts.${key}: found ${found}, expected nothing: ${why}`);

function idleModels({ recipe, llm, budget, synthesis, compute }: Spec): string[] {
  if (llm)
    return synthesizes({ recipe, synthesis })
      ? []
      : [`llm: found a section, expected nothing: ${recipe} synthesizes no tasks`];
  return Object.entries(budget)
    .filter(([key, limit]) => limit !== null && !(key === 'usd' && compute.pricePerGpuHour > 0)) // GPUs are paid
    .map(
      ([key, limit]) => `budget.${key}: found ${limit}, expected nothing: without an llm section no model costs money`,
    );
}

function idleForgetting({ signals: { forgetting } }: Spec): string[] {
  const { score, history, maxP } = forgetting;
  if (score === 'drop')
    return history === 'running'
      ? [
          'signals.forgetting.history: found "running", expected before-current-iteration: score drop compares iterations',
        ]
      : [];
  if (maxP === defaultForgettingSettings.maxP) return [];
  return [`signals.forgetting.maxP: found ${maxP}, expected nothing: only score drop tests`];
}

/** Settings of a growing pool have no effect on a pool that does not grow. */
function idleAims({ name, recipe, synthesis: { aims, when, match, refills } }: Spec): string[] {
  if (match === name) return [`synthesis.match: found "${match}", expected the name of another campaign`];
  if (match === null && refills !== defaultRefills)
    return [`synthesis.refills: found ${refills}, expected nothing: without match no iteration is refilled`];
  const grows = growsPool(recipes[recipe]);
  if (grows && aims !== 'none') return [];
  const why = grows ? 'with aims none the pool does not grow' : `the pool of ${recipe} does not grow`;
  return Object.entries({ ...(!grows && { aims }), when, match })
    .filter(([, found]) => ![null, 'signals', 'every'].includes(found))
    .map(([key, found]) => `synthesis.${key}: found "${found}", expected nothing: ${why}`);
}

/** A rule with a judge needs a language model, and a judge that grades attempts needs calibration. */
function missingJudge({ synthesis, llm, judge }: Spec): string[] {
  const { rule } = synthesis;
  if ((rule === 'agreed' || rule === 'solvable') && !llm)
    return [
      `synthesis.rule: found "${rule}", expected by-author, paper or strict: without an llm section there is no model`,
    ];
  if (synthesis.grader !== 'judge') return [];
  if (!llm) return ['synthesis.grader: found "judge", expected environment: without an llm section there is no judge'];
  if (judge.calibrationTasks > 0) return [];
  return ['judge.calibrationTasks: found 0, expected at least 1: a judge must be calibrated before it grades attempts'];
}

/** Attempts of the solver are votes under two rules, and `solvable` needs them. */
function idleSolver({ synthesis: { rule, solverAttempts: found, validation }, llm }: Spec): string[] {
  if (rule === 'solvable' && found === 0)
    return ['synthesis.solverAttempts: found 0, expected at least 1: rule solvable accepts what an attempt solves'];
  if (found === 0) return [];
  const why =
    (!llm && 'without an llm section there is no solver') ||
    (validation === 'off' && 'synthesis.validation is off') ||
    (rule !== 'solvable' && rule !== 'by-author' && `rule ${rule} does not read them`);
  return why ? [`synthesis.solverAttempts: found ${found}, expected 0: ${why}`] : [];
}

function idlePool({ pool: { strategy, band, retirement, window } }: Spec): string[] {
  const unread =
    band && strategy === 'uniform'
      ? ['pool.band: found a band, expected nothing: uniform draws all tasks with equal probability']
      : [];
  if (!retirement || retirement.patience <= window) return unread;
  const { patience } = retirement;
  return [
    ...unread,
    `pool.retirement.patience: found ${patience}, expected at most ${window}, the value of pool.window`,
  ];
}

function idlePolicy({ policy: { source, model, parameters, adapter, functions }, start }: Spec): string[] {
  return [
    ...(functions === 'template' && source === 'scratch'
      ? ['policy.functions: found template, expected text: a policy from scratch has no template of its own']
      : []),
    ...(source === 'imported' && model === null
      ? ['policy.model: found nothing, expected a name: policy.source is imported']
      : []),
    ...(source !== 'imported' && model !== null
      ? [`policy.model: found "${model}", expected nothing: policy.source is ${source}`]
      : []),
    ...(source !== 'imported' && parameters !== null
      ? [`policy.parameters: found ${parameters}, expected nothing: policy.source is ${source}`]
      : []),
    ...(adapter && source !== 'imported'
      ? [`policy.adapter: found a section, expected nothing: an adapter needs policy.source imported`]
      : []),
    ...(start === 'base' && source === 'scratch'
      ? ['start: found base, expected sft: a policy from scratch is untrained']
      : []),
  ];
}

/** A stored policy is played and not trained further. */
function idleStored({ policy: { source, id }, start, iterations, recipe }: Spec): string[] {
  if (source !== 'stored')
    return id === null ? [] : [`policy.id: found "${id}", expected nothing: policy.source is ${source}`];
  return [
    ...(id === null ? ['policy.id: found nothing, expected the hash of a policy: policy.source is stored'] : []),
    ...(start === 'base' ? [] : [`start: found ${start}, expected base: a stored policy is only evaluated`]),
    ...((iterations ?? recipes[recipe].iterations) === 0
      ? []
      : [
          `iterations: found ${iterations ?? recipes[recipe].iterations}, expected 0: a stored policy is only evaluated`,
        ]),
  ];
}

/** Returns a line per method with both lengths of a job, or with none. */
function idleSchedules({ training, iterations, recipe }: Spec): string[] {
  const count = iterations ?? recipes[recipe].iterations;
  return Object.entries(training).flatMap(([method, settings]) =>
    'byIteration' in settings && settings.byIteration.length > count
      ? [
          `training.${method}.byIteration: found ${settings.byIteration.length} entries, expected at most ${count}, the value of iterations`,
        ]
      : [],
  );
}

function idleReplica({ replica, iterations, recipe }: Spec): string[] {
  if (replica === 0 || (iterations ?? recipes[recipe].iterations) > 0) return [];
  return [`replica: found ${replica}, expected 0: nothing is sampled after the start`];
}

function idleCompute({ compute }: Spec): string[] {
  const { engine, processes, sharding, pricePerGpuHour, kernels, compile, device } = compute;
  return [
    ...(kernels === 'cpu' && (compile === 'on' || device === 'cuda')
      ? [
          `compute.kernels: found cpu, expected auto or transformers: ${compile === 'on' ? 'compile is on' : 'device is cuda'}`,
        ]
      : []),
    ...(engine === 'trl' && kernels !== 'auto'
      ? [`compute.kernels: found ${kernels}, expected auto: compute.engine is trl`]
      : []),
    ...(engine === 'trl' && compile === 'on' ? ['compute.compile: found on, expected off: compute.engine is trl'] : []),
    ...(processes > 1 === (sharding === 'none')
      ? [
          `compute.sharding: found ${sharding}, expected ${processes > 1 ? 'ddp, fsdp or deepspeed' : 'none'}: processes is ${processes}`,
        ]
      : []),
    ...(pricePerGpuHour > 0 && device === 'cpu'
      ? [`compute.pricePerGpuHour: found ${pricePerGpuHour}, expected 0: compute.device is cpu`]
      : []),
  ];
}

/** The trainer refuses these too, but only after the campaign has spent its rollouts. */
function unusableEngine({ recipe, compute: { engine, sharding, device } }: Spec): string[] {
  const isRl = isReinforcement(recipes[recipe]);
  const mayUseTrl = engine !== 'builtin' && device !== 'cpu' && !isRl;
  return [
    ...(engine === 'trl' && isRl
      ? [
          `compute.engine: found trl, expected auto or builtin: ${recipe} trains in RL steps, which TRL's trainers do not`,
        ]
      : []),
    ...(sharding === 'deepspeed' && !mayUseTrl
      ? ['compute.sharding: found deepspeed, expected fsdp or ddp: only engine trl has DeepSpeed, on CUDA, without RL']
      : []),
    ...(sharding === 'fsdp' && engine === 'trl' && device === 'cpu'
      ? [
          'compute.sharding: found fsdp, expected ddp: on a CPU accelerate does not shard; or set compute.engine: builtin',
        ]
      : []),
  ];
}
