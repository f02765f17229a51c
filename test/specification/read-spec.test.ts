import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { recipeNames, recipes } from '../../src/domain/campaign/recipe';
import { secretOptions } from '../../src/specification/secret-options';
import { readSpec, readStoredSpec, resolveSpec, specHash } from '../../src/specification/read-spec';
import type { SpecChange } from '../../src/specification/spec-layers';
import { readChange } from '../../src/specification/read-change';
import { malformedSpecs } from './malformed-specs';

const fourLines = 'name: tidy\nseed: 7\nenvironment: { name: intercode-sql }\nrecipe: combined\n';

test.each(malformedSpecs)('a spec with $mistake is rejected: $problem', ({ text, problem }) => {
  let message = 'accepted';
  try {
    readSpec(text, 'my.yaml');
  } catch (error) {
    expect(error).toMatchObject({ name: 'DomainError', code: 'InvalidSpec' });
    ({ message } = error as Error);
  }
  expect(
    message.replaceAll(
      /^ {2}(line \d+), column \d+: /gm,
      (_, line: string) => `  ${isYamlProblem(problem) ? `${line}: ` : ''}`,
    ),
  ).toContain(`\n  ${problem}`);
  expect(message).toMatch(/^my\.yaml is not a campaign spec:\n/);
  expect(message).toContain('coevolve start my.yaml --dry-run');
});

const escaped = (text: string): string => text.replaceAll(/[.?(){}]/g, '\\$&');

const isYamlProblem = (problem: string): boolean => problem.startsWith('line ');

const errorOf = (text: string): string => {
  try {
    readSpec(text, 'my.yaml');
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('accepted');
};

test.each([
  ['recipe: combinde', /^ {2}line 4, column 1: recipe: found "combinde", expected .*; did you mean combined\?$/m],
  ['recipe: Co-Evolving-Agents', /did you mean co-evolving-agents\?$/m],
  ['recipe: magic', /, coevolve$/m],
])('a wrong recipe (%s) is reported with its position and with the most similar recipe', (line, expected) => {
  expect(errorOf(fourLines.replace('recipe: combined', line))).toMatch(expected);
});

test.each([
  ['rollout: { attempts: 4 }', 'line 5, column 1: rollout: found an unknown key', 'did you mean rollouts?'],
  ['rollouts: { attemps: 4 }', 'line 5, column 13: rollouts.attemps: found an unknown key', 'did you mean attempts?'],
  ['stepsPerIteration: 4', 'line 5, column 1: stepsPerIteration: ', 'did you mean rollouts.stepsPerIteration?'],
  ['signals: { rare: { theta: 5 } }', 'line 5, column 20: signals.rare.theta: ', 'did you mean thetaPercent?'],
  ['signals:\n  rare:\n    # a comment\n    pattern: trigrams', 'line 8, column 5: ', 'did you mean trigram?'],
  ['promotion: &p { rule: alway }', 'line 5, column 17: promotion.rule: ', 'did you mean always?'],
])('%j is reported as %j and %j', (line, start, suggestion) => {
  const message = errorOf(`${fourLines}${line}\n`);
  expect(message).toMatch(new RegExp(`^  ${escaped(start)}.*${escaped(suggestion)}$`, 'm'));
});

test('a missing key has the position of its section, and none at the top', () => {
  const message = errorOf('name: tidy\nenvironment:\n  trainTasks: 5\nrecipe: eto\n');
  expect(message).toMatch(/^ {2}line 2, column 1: environment\.name: found nothing/m);
  expect(message).toMatch(/^ {2}seed: found nothing/m);
});

test('a wrong value and a key without effect are reported together', () => {
  const message = errorOf(`${fourLines}evaluation: { temperature: hot }\nrollouts: { tasksPerStep: 3 }\n`);
  expect(message).toContain('line 5, column 15: evaluation.temperature: found "hot"');
  expect(message).toContain('line 6, column 13: rollouts.tasksPerStep: found 3, expected nothing');
});

test('a wrong section causes no further problems in sections that depend on it', () => {
  const message = errorOf(
    `${fourLines}llm: { models: {} }\nbudget: { llmTokens: 5 }\npool: { band: { low: 0, high: 1 } }\n`,
  );
  expect(message).toContain('llm.models.explorer: found nothing');
  expect(message).toContain('pool.band: found a section, expected nothing');
  expect(message).not.toContain('budget');
});

test('there are at least fifty malformed specs, each with a different mistake', () => {
  expect(malformedSpecs.length).toBeGreaterThanOrEqual(50);
  expect(new Set(malformedSpecs.map(({ mistake }) => mistake)).size).toBe(malformedSpecs.length);
});

test('one error lists all mistakes of a spec', () => {
  const text = 'name: Tidy\nseed: x\nrecipe: magic\nrollouts: { attempts: 0, speed: 9 }\n';
  expect(() => readSpec(text, 'my.yaml')).toThrow(
    /name: .*\n.*seed: .*\n.*environment: .*\n.*recipe: .*\n.*rollouts\.attempts: .*\n.*rollouts\.speed: /,
  );
});

test('a weight that the recipe does not read is rejected, not ignored', () => {
  const text = `${fourLines.replace('combined', 'eto')}pairs: { target: { expert-target: { lambdaSft: 0.5 } } }\n`;
  expect(() => readSpec(text, 'eto.yaml')).toThrow(
    'pairs.target.expert-target.lambdaSft: found 0.5, expected nothing: eto trains only by DPO',
  );
});

test.each(recipeNames)('four lines are a complete spec of recipe %s', (recipe) => {
  const spec = readSpec(fourLines.replace('combined', recipe), 'four.yaml');
  expect(spec).toMatchObject({ name: 'tidy', seed: 7, recipe, iterations: recipes[recipe].iterations });
  expect(missing(spec)).toEqual([]);
});

/** Returns the paths without a value. Absent keys of a kind of pair have the recipe's values. */
function missing(value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [at] : [];
  return Object.entries(value).flatMap(([key, item]) => missing(item, `${at}.${key}`));
}

test('a spec of four lines resolves to the documented defaults', () => {
  expect(readSpec(fourLines, 'four.yaml')).toMatchObject({
    environment: { name: 'intercode-sql', options: {}, trainTasks: 600, heldOutTasks: 200, maxTurns: null },
    iterations: 2,
    rollouts: { attempts: 4, temperature: 0.9, maxTokens: 64, tasksPerIteration: null },
    signals: {
      forgetting: { enabled: true, score: 'drop', maxP: 0.05 },
      boundary: { enabled: true },
      rare: { enabled: true, pattern: 'bigram', among: 'rewarded', measure: 'tail' },
    },
    synthesis: { candidatesPerSignal: 100, growthCap: null },
    pairs: { dropSameActions: true, hardNegativeReward: 0.6, expertBeaten: 'flip', failureCandidates: 'cross-only' },
    policy: { source: 'scratch' },
    evaluation: { temperature: 0, confidence: 0.95 },
  });
});

const examples = path.resolve(__dirname, '../../examples');

test.each(readdirSync(examples).filter((name) => name.endsWith('.yaml')))('the example %s is a valid spec', (name) => {
  expect(() => readSpec(readFileSync(path.join(examples, name), 'utf8'), name)).not.toThrow();
});

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const someSpec = fc.record(
  {
    name: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/),
    seed: fc.nat(),
    environment: fc.record(
      {
        name: fc.constant('intercode-sql'),
        // Files with a key `__proto__` and options that look like secrets are rejected
        options: fc
          .dictionary(fc.string(), fc.jsonValue())
          .filter((options) => !JSON.stringify(options).includes('"__proto__"') && secretOptions(options).length === 0),
        trainTasks: fc.integer({ min: 1, max: 99 }),
      },
      { requiredKeys: ['name'] },
    ),
    recipe: fc.constantFrom(...recipeNames.filter((name) => name !== 'sft')),
    iterations: fc.nat(9),
    rollouts: fc.record(
      { attempts: fc.integer({ min: 2, max: 64 }), temperature: fc.constantFrom(0.5, 1, 5) },
      { requiredKeys: [] },
    ),
    signals: fc.record(
      { boundary: fc.record({ enabled: fc.boolean(), threshold: unit }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    ),
    pairs: fc.record(
      {
        target: fc.record(
          {
            'expert-target': fc.record(
              { maxPairs: fc.integer({ min: 1 }), enabled: fc.boolean() },
              { requiredKeys: [] },
            ),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
    training: fc.record(
      { sft: fc.record({ epochs: fc.integer({ min: 1, max: 9 }) }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['name', 'seed', 'environment', 'recipe'] },
);

test('a resolved spec resolves to itself, also through JSON and YAML, with the same hash', () => {
  fc.assert(
    fc.property(someSpec, (input) => {
      const resolved = resolveSpec(input, 'input');
      expect(resolveSpec(resolved, 'resolved')).toEqual(resolved);
      const stored = JSON.parse(JSON.stringify(resolved)) as typeof resolved;
      expect(specHash(resolveSpec(stored, 'stored'))).toBe(specHash(resolved));
      expect(specHash(readSpec(stringify(resolved), 'printed'))).toBe(specHash(resolved));
    }),
  );
});

test('the hash of a spec does not depend on the order of its keys', () => {
  fc.assert(
    fc.property(someSpec, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (input, chance) => {
      expect(specHash(resolveSpec(shuffled(input, chance), 'shuffled'))).toBe(specHash(resolveSpec(input, 'input')));
    }),
  );
});

function shuffled(value: unknown, chance: Iterator<number>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => ({
    at: chance.next().value as number,
    key,
    item: shuffled(item, chance),
  }));
  return Object.fromEntries(entries.sort((a, b) => a.at - b.at).map(({ key, item }) => [key, item]));
}

test.each(['name: other', 'seed: 8', 'rollouts: { attempts: 5 }'])(
  'a different value (%s) gives a different hash',
  (line) => {
    const changed = line.startsWith('rollouts')
      ? fourLines + line
      : fourLines.replace(new RegExp(`^${line.split(':')[0]}:.*$`, 'm'), line);
    expect(specHash(readSpec(changed, 'a'))).not.toBe(specHash(readSpec(fourLines, 'b')));
  },
);

test.each(recipeNames)(
  'a stored spec of %s is read as it is, and keys of later releases get their defaults',
  (recipe) => {
    const spec = readSpec(fourLines.replace('combined', recipe), 'my.yaml');
    const { weight: _weight, compute: _compute, ...older } = spec;
    expect(readStoredSpec(spec)).toEqual(spec);
    expect(readStoredSpec(older)).toEqual(spec);
  },
);

test.each([
  ['name=2026', { name: '2026' }],
  ['recipe=eto', { recipe: 'eto' }],
  ['rollouts.attempts=8', { rollouts: { attempts: 8 } }],
  ['rollouts.tasksPerIteration=null', { rollouts: { tasksPerIteration: null } }],
  ['environment.options.level=3', { environment: { name: 'intercode-sql', options: { level: 3 } } }],
  ['environment.experts=null', { environment: { experts: null } }],
  ['promotion={ rule: always }', { promotion: { rule: 'always' } }],
])('--set %s replaces the value of the file, typed by the schema', (change, expected) => {
  const read = readChange(change);
  expect(read).toHaveProperty('path');
  expect(readSpec(`${fourLines}rollouts: { attempts: 2 }\n`, 'my.yaml', [read as SpecChange])).toMatchObject(expected);
});

test('a wrong change is reported without a position of the file, and other mistakes keep theirs', () => {
  const change = readChange('rollouts.attemps=8') as SpecChange;
  expect(() => readSpec(`${fourLines}start: never\n`, 'my.yaml', [change])).toThrow(
    /^ {2}--set: rollouts\.attemps: found an unknown key.*did you mean attempts[^]*^ {2}line 5, column 1: start: /m,
  );
});

test.each(['attempts', '=3', 'rollouts.attempts=[1'])('the change %j is rejected', (change) => {
  expect(readChange(change)).toEqual({ problem: expect.stringMatching(/^--set/) });
});
