import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { recipeNames } from '../../src/domain/campaign/recipe';
import { readSpec, resolveSpec } from '../../src/specification/read-spec';
import { unreadSettings, usedSettings } from '../../src/specification/used-settings';

const examples = path.join(__dirname, '..', '..', 'examples');
const of = (recipe: string, rest = ''): string =>
  `name: a\nseed: 7\nenvironment: { name: intercode-sql }\nrecipe: ${recipe}\n${rest}`;
const shown = (text: string) => usedSettings(readSpec(text, 'a'));
const specs = readdirSync(examples).filter((name) => name.endsWith('.yaml'));

test.each([
  ...recipeNames.map((recipe) => of(recipe)),
  ...specs.map((name) => readFileSync(path.join(examples, name), 'utf8')),
])('the settings that a recipe reads resolve to the same spec, and no setting is unread: %#', (text) => {
  const spec = readSpec(text, 'a');
  expect(resolveSpec(shown(text), 'shown')).toEqual(spec);
  expect(unreadSettings(spec)).toEqual([]);
});

test('the settings of a recipe contain only the sections and the training methods that it reads', () => {
  const sft = shown(of('sft'));
  expect(Object.keys(sft)).toEqual([
    'name',
    'seed',
    'weight',
    'environment',
    'recipe',
    'rollouts',
    'policy',
    'start',
    'compute',
    'training',
    'evaluation',
    'iterations',
  ]);
  expect(Object.keys(sft['training'] as object)).toEqual(['init', 'sft']);
  expect(shown(of('grpo'))).toMatchObject({ training: { grpo: {} }, signals: {}, promotion: { rule: 'always' } });
  expect(shown(of('combined'))).toMatchObject({ synthesis: {}, admission: {}, pairs: { dropSameActions: true } });
});

test.each([
  ['grpo', 'pairs: { failureAgent: { enabled: false }, dropSameActions: true }', ['pairs.failureAgent.enabled']],
  ['sft-continued', 'rollouts: { attempts: 9, maxTokens: 9 }', ['rollouts.attempts']],
  ['eto', 'training: { dpo: { beta: 0.2 }, rft: { updates: 7 } }', ['training.rft.epochs', 'training.rft.updates']],
  ['coevolve', 'judge: { calibrationTasks: 9 }', ['judge.calibrationTasks']],
  ['eto', 'policy: { source: imported, model: m }', []],
])('%s with %s lists the settings that nothing reads', (recipe, rest, expected) => {
  expect(unreadSettings(readSpec(of(recipe, rest), 'a'))).toEqual(expected);
});
