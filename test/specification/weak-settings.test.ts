import { estimate } from '../../src/specification/estimate';
import { resolveSpec } from '../../src/specification/read-spec';
import { lowBudget, weakSettings } from '../../src/specification/weak-settings';

const specOf = (changes: object) =>
  resolveSpec(
    { name: 'weak', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto', ...changes },
    'weak.yaml',
  );
const reinforcement = (recipe: string, rollouts: object) => ({
  recipe,
  rollouts,
  training: { [recipe === 'ppo' ? 'ppo' : 'grpo']: { learningRate: 3e-4 } },
});
const off = { forgetting: { enabled: false }, boundary: { enabled: false }, rare: { enabled: false } };

test.each([
  ['a group of one', reinforcement('grpo', { attempts: 1 }), /rollouts\.attempts: found 1, expected at least 2/],
  ['a group of one', reinforcement('coevolve', { attempts: 1 }), /rollouts\.attempts: found 1, expected at least 2/],
  ['equal attempts', reinforcement('grpo', { temperature: 0 }), /rollouts\.temperature: found 0, expected more/],
  ['equal attempts', reinforcement('ppo', { temperature: 0 }), /rollouts\.temperature: found 0, expected more/],
  ['no signal', { recipe: 'combined', signals: off }, /synthesis\.aims: found signals, expected random or none/],
  [
    'no signal',
    { recipe: 'combined', signals: off, synthesis: { aims: 'shuffled' } },
    /synthesis\.aims: found shuffled, expected random or none/,
  ],
  [
    'a signal that one attempt cannot raise',
    { recipe: 'combined', rollouts: { attempts: 1 }, signals: { ...off, boundary: { enabled: true } } },
    /rollouts\.attempts: found 1, expected at least 2, or signals\.forgetting or signals\.rare enabled: boundary/,
  ],
  [
    'rows beyond the positions',
    { training: { dpo: { maxLength: 4096 } } },
    /training\.dpo\.maxLength: found 4096, expected at most 512, the value of training\.init\.maxPositions; raise/,
  ],
])('%s is refused', (_name, changes, line) => {
  expect(() => specOf(changes)).toThrow(line);
});

const anyModel = { provider: 'p', model: 'm', price: { inputPerMillion: 0, outputPerMillion: 0 } };
const anyLlm = { models: { explorer: anyModel } };

test.each([
  ['PPO compares with its value head', reinforcement('ppo', { attempts: 1 })],
  ['one attempt at a time', reinforcement('ppo', { attempts: 1, temperature: 0 })],
  ['no signal is needed', { recipe: 'combined', signals: off, synthesis: { aims: 'random' } }],
  ['nothing is synthesized', { recipe: 'combined', signals: off, synthesis: { aims: 'none' } }],
  ['pairs need no group', { rollouts: { attempts: 1, temperature: 0 } }],
  ['the usual', {}],
])('%s: accepted without a warning', (_name, changes) => {
  expect(weakSettings(specOf(changes))).toEqual([]);
});

test.each([
  [
    'equal attempts',
    { rollouts: { temperature: 0 } },
    /^rollouts\.temperature: 0 makes the 4 attempts at a task equal/,
  ],
  ['one held-out task', { environment: { name: 'e', heldOutTasks: 1 } }, /^environment\.heldOutTasks: dev has 1 of/],
  [
    'few held-out tasks',
    { environment: { name: 'e', heldOutTasks: 11 } },
    /^environment\.heldOutTasks: test has 5 of its tasks/,
  ],
  [
    'a rule that reads no query',
    { recipe: 'combined', llm: anyLlm, synthesis: { rule: 'paper' } },
    /^synthesis\.rule: paper admits/,
  ],
  [
    'no validation',
    { recipe: 'combined', llm: anyLlm, synthesis: { validation: 'off' } },
    /^synthesis\.validation: off admits queries/,
  ],
  [
    'one task of calibration',
    { recipe: 'combined', llm: anyLlm, judge: { calibrationTasks: 1 } },
    /^judge\.calibrationTasks: with 1 no judge is better than chance/,
  ],
  ['the rate of a large model', { recipe: 'grpo' }, /^training\.grpo\.learningRate: 0\.000001 changes nothing/],
])('%s: a warning', (_name, changes, line) => {
  expect(weakSettings(specOf(changes))).toEqual([expect.stringMatching(line)]);
});

test('a budget below its own estimate is a warning that names both amounts', () => {
  const price = { inputPerMillion: 1, outputPerMillion: 4 };
  const llm = { models: { explorer: { provider: 'p', model: 'm', price } } };
  const of = (budget: object) => {
    const spec = specOf({ recipe: 'combined', llm, budget });
    return lowBudget(spec, estimate(spec));
  };
  expect(of({ usd: 0.01, llmTokens: 5000 })).toEqual([
    expect.stringMatching(/^budget\.usd: \$0\.01 is less than the \$\d+\.\d\d that the campaign is estimated/),
    expect.stringMatching(/^budget\.llmTokens: 5,000 is less than the [\d,]+ that/),
  ]);
  expect(of({ usd: 1e5, llmTokens: 1e12 })).toEqual([]);
  expect(of({})).toEqual([]);
});
