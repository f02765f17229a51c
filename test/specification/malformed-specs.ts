const complete = `name: tidy
seed: 7
environment: { name: intercode-sql }
recipe: combined
`;

/** A spec with one mistake, and the expected line of the error: field, value found, value expected. */
export type MalformedSpec = { mistake: string; text: string; problem: string };

const top = (mistake: string, from: string, to: string, problem: string): MalformedSpec => ({
  mistake,
  text: complete.replace(from, to),
  problem,
});

const more = (mistake: string, lines: string, problem: string): MalformedSpec => ({
  mistake,
  text: `${complete}${lines}\n`,
  problem,
});

const whole = (mistake: string, text: string, problem: string): MalformedSpec => ({ mistake, text, problem });

const allKeys =
  'name, seed, replica, weight, environment, recipe, iterations, rollouts, signals, llm, budget, synthesis, admission, judge, pool, pairs, policy, start, compute, training, evaluation, promotion';

const notOneMapping = [
  whole('an empty file', '', `the whole file: found nothing, expected keys with values: ${allKeys}`),
  whole('comments only', '# to be written\n', `the whole file: found nothing, expected keys with values: ${allKeys}`),
  whole('a list', '- name: tidy\n', 'the whole file: found a list, expected keys with values'),
  whole(
    'a sentence',
    'please train my agent',
    'the whole file: found "please train my agent", expected keys with values',
  ),
  whole('a number', '42', 'the whole file: found 42, expected keys with values'),
  whole('an unclosed bracket', 'environment: { name: a\n', 'line 2: not YAML: '),
  whole('an unclosed quote', 'name: "tidy\n', 'line 2: not YAML: Missing closing "quote'),
  whole('two colons in a line', 'name: seed: 7\n', 'line 1: not YAML: Nested mappings are not allowed'),
  whole(
    'two documents',
    `${complete}---\n${complete}`,
    'line 5: found a second document after "---", expected one campaign per file',
  ),
  whole('a key twice', `${complete}seed: 8\n`, 'line 5: found seed a second time, expected every key once'),
  whole(
    'a nested key twice',
    `${complete}rollouts: { attempts: 1, attempts: 2 }\n`,
    'line 5: found attempts a second time, expected every key once',
  ),
  whole(
    'a tab as indentation',
    'environment:\n\tname: intercode-sql\n',
    'line 2: found a tab, expected spaces as indentation\ndocs/spec.md explains', // the only problem
  ),
  whole(
    'a no-break space after a key',
    'name:\u00a0tidy\nseed: 7\n',
    'line 1: found the blank U+00A0, expected ordinary spaces\ndocs/spec.md explains',
  ),
  whole('a list as a key', `${complete}? [a, b]\n: 3\n`, 'line 5: found a list or a mapping as a key, expected a name'),
  whole('an unknown tag', `${complete}iterations: !!js/function 3\n`, 'line 5: not YAML: Unresolved tag'),
  whole('an alias of nothing', `${complete}rollouts: *mine\n`, 'line 5: not YAML: Unresolved alias'),
  whole('aliases that expand beyond the memory', bomb(), 'not YAML: Excessive alias count'),
];

const strange = [
  whole('old line ends', complete.replaceAll('\n', '\r'), 'line 1: not YAML: Nested mappings are not allowed'),
  whole('a text of 300 KB', `${complete}# ${'x'.repeat(300_000)}\n`, 'the whole file: found more than 256 KiB'),
  whole('ten thousand levels', `${complete}judge: ${nested(10_000)}\n`, 'line 5: found more levels than can be read'),
  whole('an unknown version of YAML', `%YAML 9.9\n---\n${complete}`, 'line 1: not YAML: Unsupported YAML version 9.9'),
  more('a long integer', 'weight: 9223372036854775807', 'line 5: found 9223372036854775807, expected an integer'),
  more('102 levels', `judge: ${nested(102)}`, 'judge.0.0: found more than 100 levels, expected fewer'),
  more('a section in itself', 'judge: &j { a: *j }', 'judge.a: found an alias of a section around it, expected values'),
  more('a line break in a key', '"a\\nb": 1', '"a\\nb": found an unknown key'),
  more('a key of every object', 'constructor: 3', 'constructor: found an unknown key'),
  more('a date', 'iterations: 2026-01-01', 'iterations: found "2026-01-01", expected a number'),
  more('bytes', 'iterations: !!binary aGk=', 'iterations: found {"type":"Buffer","data":[104,105]}, expected a number'),
  more(
    'a merge of sections',
    'rollouts: { <<: { attempts: 2 } }',
    'rollouts.<<: found a merge key of YAML, which is not read: write its keys out',
  ),
  more('a number beyond all numbers', 'iterations: 1e999', 'iterations: found Infinity, expected a number'),
  more('minutes and seconds', 'iterations: 1:30', 'iterations: found "1:30", expected a number'),
  top(
    'a recipe of every object',
    'combined',
    'constructor',
    'recipe: found "constructor", expected one of sft, sft-continued, rft',
  ),
  top(
    'a prototype as a recipe',
    'combined',
    '__proto__',
    'recipe: found "__proto__", expected one of sft, sft-continued, rft',
  ),
  top(
    'an option in a prototype',
    'sql }',
    'sql, options: { __proto__: { a: 1 } } }',
    'environment.options.__proto__: found an unknown key, expected another name',
  ),
  top(
    'an option that Postgres cannot store',
    'sql }',
    'sql, options: { a: "\\0" } }',
    String.raw`environment.options.a: found "\u0000", expected a text without NUL`,
  ),
  top(
    'half a character',
    'intercode-sql',
    String.raw`"\uD800"`,
    String.raw`environment.name: found "\ud800", expected a text without NUL and without half characters`,
  ),
  top('the name of a look-alike letter', 'tidy', 't\u0456dy', 'name: found "t\u0456dy", expected lower-case letters'),
  top('a name that turns its direction', 'tidy', '\u202Eydit', 'name: found "\u202Eydit", expected lower-case letters'),
];

const firstFour = [
  top('no name', 'name: tidy\n', '', 'name: found nothing, expected a text'),
  top('no seed', 'seed: 7\n', '', 'seed: found nothing, expected a number'),
  top(
    'no environment',
    'environment: { name: intercode-sql }\n',
    '',
    'environment: found nothing, expected keys with values: name, options',
  ),
  top(
    'no recipe',
    'recipe: combined\n',
    '',
    'recipe: found nothing, expected one of sft, sft-continued, rft, eto, co-evolving-agents',
  ),
  top('a name in capitals', 'tidy', 'Tidy', 'name: found "Tidy", expected lower-case letters, digits and hyphens'),
  top(
    'a name with a blank',
    'tidy',
    'my campaign',
    'name: found "my campaign", expected lower-case letters, digits and hyphens',
  ),
  top(
    'a name that starts with a hyphen',
    'tidy',
    '-tidy',
    'name: found "-tidy", expected lower-case letters, digits and hyphens',
  ),
  top(
    'a name of 64 letters',
    'tidy',
    'x'.repeat(64),
    `name: found "${'x'.repeat(64)}", expected lower-case letters, digits and hyphens, at most 63`,
  ),
  top('a name that is a number', 'tidy', '2026', 'name: found 2026, expected a text'),
  top('a seed without a value', 'seed: 7', 'seed:', 'seed: found nothing, expected a number'),
  top('a seed in quotes', 'seed: 7', 'seed: "7"', 'seed: found "7", expected a number'),
  top('a seed with a fraction', 'seed: 7', 'seed: 7.5', 'seed: found 7.5, expected a whole number'),
  top('a negative seed', 'seed: 7', 'seed: -1', 'seed: found -1, expected at least 0'),
  top('a seed beyond 2^31', 'seed: 7', 'seed: 2147483648', 'seed: found 2147483648, expected at most 2147483647'),
  top('a seed that is no number', 'seed: 7', 'seed: .nan', 'seed: found NaN, expected a number'),
  top('an infinite seed', 'seed: 7', 'seed: .inf', 'seed: found Infinity, expected a number'),
  top(
    'an environment as a plain name',
    '{ name: intercode-sql }',
    'intercode-sql',
    'environment: found "intercode-sql", expected keys with values: name, options',
  ),
  top(
    'an environment without a name',
    '{ name: intercode-sql }',
    '{ trainTasks: 5 }',
    'environment.name: found nothing, expected a text',
  ),
  top('an empty environment name', 'intercode-sql', '""', 'environment.name: found "", expected at least 1 character'),
  top(
    'environment options as a list',
    'intercode-sql }',
    'intercode-sql, options: [a] }',
    'environment.options: found ["a"], expected keys with values',
  ),
  top(
    'no train tasks',
    'intercode-sql }',
    'intercode-sql, trainTasks: 0 }',
    'environment.trainTasks: found 0, expected at least 1',
  ),
  top(
    'too many held-out tasks',
    'intercode-sql }',
    'intercode-sql, heldOutTasks: 5001 }',
    'environment.heldOutTasks: found 5001, expected at most 5000',
  ),
  top(
    'an unknown recipe',
    'combined',
    'magic',
    'recipe: found "magic", expected one of sft, sft-continued, rft, eto, co-evolving-agents',
  ),
  top(
    'a recipe in capitals',
    'combined',
    'Combined',
    'recipe: found "Combined", expected one of sft, sft-continued, rft',
  ),
  top(
    'a list of recipes',
    'combined',
    '[sft, eto]',
    'recipe: found ["sft","eto"], expected one of sft, sft-continued, rft',
  ),
];

const unknownKeys = [
  more('an unknown key', 'gpu: 8', `gpu: found an unknown key, expected one of ${allKeys}`),
  more(
    'a key of other sections',
    'learningRate: 0.1',
    `learningRate: found an unknown key, expected one of ${allKeys}; other sections have it: training.sft.learningRate, `,
  ),
  more(
    'a no-break space',
    'rollouts:\u00a0{ attempts: 2 }',
    'rollouts:\u00a0{ attempts: found the blank U+00A0, expected ordinary spaces',
  ),
  more('a wide blank', 'weight\u3000: 2', 'weight\u3000: found the blank U+3000, expected ordinary spaces'),
  more('a misspelt key', 'rollout: { attempts: 4 }', 'rollout: found an unknown key, expected one of name, seed'),
  more('a prototype as a key', '__proto__: { iterations: 3 }', '__proto__: found an unknown key'),
  top(
    'an unknown key of environment',
    'intercode-sql }',
    'intercode-sql, tasks: 5 }',
    'environment.tasks: found an unknown key, expected one of name, options, trainTasks, heldOutTasks, maxTurns',
  ),
  more(
    'an unknown key of rollouts',
    'rollouts: { attemps: 4 }',
    'rollouts.attemps: found an unknown key, expected one of attempts, temperature, maxTokens, maxMinutes, thinking',
  ),
  more(
    'an unknown key in an entry of a list',
    'training: { rft: { byIteration: [{ learningRat: 1 }] } }',
    'training.rft.byIteration.0.learningRat: found an unknown key, expected one of learningRate, schedule',
  ),
  more(
    'an unknown key of a named section',
    'evaluation: { sets: { unseen: { task: 10 } } }',
    'evaluation.sets.unseen.task: found an unknown key, expected one of tasks',
  ),
  more(
    'an unknown signal',
    'signals: { boring: { enabled: true } }',
    'signals.boring: found an unknown key, expected one of forgetting, boundary, rare',
  ),
  more(
    'an unknown key of a signal',
    'signals: { rare: { theta: 5 } }',
    'signals.rare.theta: found an unknown key, expected one of enabled, thetaPercent',
  ),
  more(
    'an unknown key of synthesis',
    'synthesis: { model: big }',
    'synthesis.model: found an unknown key, expected one of initialTasks, aims, when, candidatesPerSignal, growthCap',
  ),
  more(
    'an unknown kind of pair',
    'pairs: { target: { expert: { enabled: false } } }',
    'pairs.target.expert: found an unknown key, expected one of failure-failure, expert-target',
  ),
  more(
    'an unknown key of a kind of pair',
    'pairs: { target: { expert-target: { quota: 3 } } }',
    'pairs.target.expert-target.quota: found an unknown key, expected one of enabled, reward, maxPairs',
  ),
  more(
    'an unknown training method',
    'training: { reinforce: {} }',
    'training.reinforce: found an unknown key, expected one of init, sft, rft, dpo, target, grpo, ppo',
  ),
  more(
    'a key of another training method',
    'training: { sft: { beta: 0.1 } }',
    'training.sft.beta: found an unknown key, expected one of epochs, updates, batchSize',
  ),
  more(
    'an unknown key of promotion',
    'promotion: { gate: strict }',
    'promotion.gate: found an unknown key, expected one of rule, tolerance, confidence, resamples',
  ),
];

const wrongValues = [
  more(
    'a word instead of a number',
    'rollouts: { temperature: warm }',
    'rollouts.temperature: found "warm", expected a number',
  ),
  more(
    'a limit that is neither number nor null',
    'rollouts: { tasksPerIteration: all }',
    'rollouts.tasksPerIteration: found "all", expected a number or null',
  ),
  more(
    'a temperature below 0',
    'rollouts: { temperature: -0.1 }',
    'rollouts.temperature: found -0.1, expected at least 0',
  ),
  more(
    'equal attempts at held-out tasks',
    'evaluation: { attempts: 4 }',
    'evaluation.attempts: found 4, expected 1, or evaluation.temperature above 0',
  ),
  more('sixty-five attempts', 'rollouts: { attempts: 65 }', 'rollouts.attempts: found 65, expected at most 64'),
  more(
    'yes instead of true',
    'signals: { rare: { enabled: yes } }',
    'signals.rare.enabled: found "yes", expected true or false',
  ),
  more(
    'a percentage of 0',
    'signals: { rare: { thetaPercent: 0 } }',
    'signals.rare.thetaPercent: found 0, expected more than 0',
  ),
  more(
    'a threshold above 1',
    'signals: { boundary: { threshold: 1.5 } }',
    'signals.boundary.threshold: found 1.5, expected at most 1',
  ),
  more(
    'an unknown choice',
    'signals: { forgetting: { score: median } }',
    'signals.forgetting.score: found "median", expected one of drop, rollout, mean, max',
  ),
  more('a section without a value', 'rollouts:', 'rollouts: found nothing, expected keys with values: attempts'),
  more(
    'a section that is a list',
    'synthesis: []',
    'synthesis: found [], expected keys with values: initialTasks, aims, when, candidatesPerSignal',
  ),
  more(
    'a negative weight',
    'pairs: { target: { expert-target: { lambdaDpo: -1 } } }',
    'pairs.target.expert-target.lambdaDpo: found -1, expected at least 0',
  ),
  more(
    'a quota of 0',
    'pairs: { failureAgent: { maxPairs: 0 } }',
    'pairs.failureAgent.maxPairs: found 0, expected at least 1',
  ),
  more(
    'functions of a template that a policy from scratch does not have',
    'policy: { functions: template }',
    'policy.functions: found "template", expected text: a policy from scratch has no template of its own',
  ),
  more(
    'an unknown policy source',
    'policy: { source: hub }',
    'policy.source: found "hub", expected one of scratch, imported',
  ),
  more(
    'an empty range of rewards',
    'pairs: { target: { expert-target: { reward: { low: 0.5, high: 0.5 } } } }',
    'pairs.target.expert-target.reward.low: found 0.5, expected less than high',
  ),
  more('no epochs', 'training: { sft: { epochs: 0 } }', 'training.sft.epochs: found 0, expected at least 1'),
  more(
    'a learning rate of 0',
    'training: { dpo: { learningRate: 0 } }',
    'training.dpo.learningRate: found 0, expected at least 1e-12',
  ),
  more(
    'a vocabulary smaller than the byte alphabet',
    'training: { init: { vocabularySize: 100 } }',
    'training.init.vocabularySize: found 100, expected at least 300',
  ),
  more(
    'a number of heads that kvHeads does not divide',
    'training: { init: { heads: 4, kvHeads: 3 } }',
    'training.init.kvHeads: found 3, expected a divisor of heads',
  ),
  more('a confidence of 1', 'evaluation: { confidence: 1 }', 'evaluation.confidence: found 1, expected at most 0.999'),
  more(
    'an unknown rule',
    'promotion: { rule: vote }',
    'promotion.rule: found "vote", expected one of always, not-worse, significantly-better',
  ),
  more('a thousand and one iterations', 'iterations: 1001', 'iterations: found 1001, expected at most 1000'),
  more(
    'a language model without a price',
    'llm: { models: { explorer: { provider: open, model: big } } }',
    'llm.models.explorer.price: found nothing, expected keys with values: inputPerMillion, outputPerMillion',
  ),
  more(
    'a language model without its provider',
    'llm: { models: { explorer: { model: big, price: { inputPerMillion: 1, outputPerMillion: 2 } } } }',
    'llm.models.explorer.provider: found nothing, expected a text',
  ),
  more('a negative budget', 'budget: { usd: -1 }', 'budget.usd: found -1, expected at least 0'),
  more(
    'an unknown strategy',
    'pool: { strategy: greedy }',
    'pool.strategy: found "greedy", expected one of uniform, rods, genenv, agent0',
  ),
  more(
    'an unknown rule of validation',
    'synthesis: { rule: lenient }',
    'synthesis.rule: found "lenient", expected one of by-author, paper, strict, agreed, solvable',
  ),
  more(
    'RL steps in a recipe without RL',
    'rollouts: { stepsPerIteration: 5 }',
    'rollouts.stepsPerIteration: found 5, expected nothing: combined has no RL steps',
  ),
  more(
    'a budget without any cost',
    'budget: { usd: 5 }',
    'budget.usd: found 5, expected nothing: without an llm section no model costs money',
  ),
  more(
    'an agreement rule without a judge',
    'synthesis: { rule: agreed }',
    'synthesis.rule: found "agreed", expected by-author, paper or strict: without an llm section there is no model',
  ),
  more(
    'a rule of attempts without a model',
    'synthesis: { rule: solvable, solverAttempts: 3 }',
    'synthesis.rule: found "solvable", expected by-author, paper or strict: without an llm section there is no model',
  ),
  more(
    'a rule of attempts without attempts',
    'synthesis: { rule: solvable }',
    'synthesis.solverAttempts: found 0, expected at least 1: rule solvable accepts what an attempt solves',
  ),
  more(
    'attempts that no rule reads',
    'synthesis: { solverAttempts: 3 }',
    'synthesis.solverAttempts: found 3, expected 0: without an llm section there is no solver',
  ),
  more(
    'a patience longer than the window',
    'pool: { retirement: { above: 0.95, below: 0.05, patience: 9 } }',
    'pool.retirement.patience: found 9, expected at most 3, the value of pool.window',
  ),
  more(
    'a band that no strategy reads',
    'pool: { band: { low: 0.2, high: 0.8 } }',
    'pool.band: found a section, expected nothing: uniform draws all tasks with equal probability',
  ),
  whole(
    'an RL recipe without RL steps',
    `${complete.replace('combined', 'ppo')}rollouts: { stepsPerIteration: null }\n`,
    'rollouts.stepsPerIteration: found nothing, expected a number: ppo trains in RL steps',
  ),
  more(
    'a campaign that is matched with itself',
    'synthesis: { match: tidy }',
    'synthesis.match: found "tidy", expected the name of another campaign',
  ),
  more(
    'a match of a pool that does not grow',
    'synthesis: { aims: none, match: other }',
    'synthesis.match: found "other", expected nothing: with aims none the pool does not grow',
  ),
  whole(
    'aims of a recipe whose pool does not grow',
    `${complete.replace('combined', 'eto')}synthesis: { aims: random }\n`,
    'synthesis.aims: found "random", expected signals: the pool of eto does not grow',
  ),
  more(
    'refills without a match',
    'synthesis: { refills: 5 }',
    'synthesis.refills: found 5, expected 3: without match no iteration is refilled',
  ),
  more(
    'an unknown aim',
    'synthesis: { aims: signal }',
    'synthesis.aims: found "signal", expected one of signals, shuffled, random, none',
  ),
  more(
    'a judge as grader without a language model',
    'synthesis: { grader: judge }',
    'synthesis.grader: found "judge", expected environment: without an llm section there is no judge',
  ),
  whole(
    'a judge that is never calibrated',
    `${complete}synthesis: { grader: judge }\njudge: { calibrationTasks: 0 }\nllm: { models: { explorer: { provider: a, model: b, price: { inputPerMillion: 0, outputPerMillion: 0 } } } }\n`,
    'judge.calibrationTasks: found 0, expected at least 1: a judge must be calibrated before it grades attempts',
  ),
  whole(
    'tasks per iteration in an RL recipe',
    `${complete.replace('combined', 'grpo')}rollouts: { tasksPerIteration: 5 }\n`,
    'rollouts.tasksPerIteration: found 5, expected nothing: grpo draws rollouts.tasksPerStep tasks in each step',
  ),
  whole(
    'a language model in a recipe without synthesis',
    `${complete.replace('combined', 'eto')}llm: { models: { explorer: { provider: a, model: b, price: { inputPerMillion: 0, outputPerMillion: 0 } } } }\n`,
    'llm: found a section, expected nothing: eto synthesizes no tasks',
  ),
  whole(
    'the engine trl in an RL recipe',
    `${complete.replace('combined', 'grpo')}rollouts: { tasksPerStep: 2, stepsPerIteration: 2 }\ncompute: { engine: trl }\n`,
    'compute.engine: found "trl", expected auto or builtin: grpo trains in RL steps, which TRL\'s trainers do not',
  ),
  more(
    'DeepSpeed without the engine trl',
    'compute: { engine: builtin, processes: 2, sharding: deepspeed }',
    'compute.sharding: found "deepspeed", expected fsdp or ddp: only engine trl has DeepSpeed, on CUDA, without RL',
  ),
  whole(
    'DeepSpeed in an RL recipe',
    `${complete.replace('combined', 'grpo')}rollouts: { tasksPerStep: 2, stepsPerIteration: 2 }\ncompute: { processes: 2, sharding: deepspeed }\n`,
    'compute.sharding: found "deepspeed", expected fsdp or ddp: only engine trl has DeepSpeed, on CUDA, without RL',
  ),
  more(
    'a model sharded by the engine trl on a CPU',
    'compute: { engine: trl, device: cpu, processes: 2, sharding: fsdp }',
    'compute.sharding: found "fsdp", expected ddp: on a CPU accelerate does not shard; or set compute.engine: builtin',
  ),
  whole(
    'iterations of a recipe that has none',
    `${complete.replace('combined', 'sft')}iterations: 2\n`,
    'iterations: found 2, expected 0, because this recipe is the supervised start alone',
  ),
];

export const malformedSpecs = [...notOneMapping, ...strange, ...firstFour, ...unknownKeys, ...wrongValues];

/** Nested aliases, ten per level: a short text for a large value. */
function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

function bomb(): string {
  const line = (n: number): string =>
    `l${n}: &l${n} [${Array(10)
      .fill(n === 0 ? 'x' : `*l${n - 1}`)
      .join(', ')}]`;
  return Array.from({ length: 6 }, (_, n) => line(n)).join('\n');
}
