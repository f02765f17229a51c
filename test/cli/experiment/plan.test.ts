import path from 'node:path';
import { planText } from '../../../src/cli/experiment/plan-text';
import { planDetectable } from '../../../src/client/experiments/plan-detectable';
import { planExperiment } from '../../../src/client/experiments/plan-experiment';
import { readConfig } from '../../../src/config';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';
import { testOfAll } from '../../support/lane';

const smoke = path.resolve(__dirname, '../../../examples/experiments/smoke.yaml');
const config = readConfig({ COEVOLVE_HOME: '/nonexistent', COEVOLVE_DEVICES: '1x80GiB' }); // no probe of a CPU

test('a plan begins with the size, and lists every arm by its differences', async () => {
  const text = planText(await planExperiment(config, await readExperiment(smoke)));
  expect(text).toMatch(/^smoke: 3 arms x 2 seeds = 6 cells, time unknown, \$0\.00\n/);
  expect(text).toContain('\nrandom: synthesis.aims=random, synthesis.match=signals\n');
  expect(text).toMatch(
    /\nassumed: speed unknown \(known after .*; speed unknown \(known after the first iteration .*\)\n/,
  );
  expect(text).toContain('matched: the estimates keep all rules of effort');
});

test('a plan names the rules that arms of a contrast break', async () => {
  const experiment = await readExperiment(smoke);
  const arms = experiment.arms.map((arm) => {
    const rollouts = arm.spec['rollouts'] as object;
    return arm.name === 'signals' ? { ...arm, spec: { ...arm.spec, rollouts: { ...rollouts, attempts: 4 } } } : arm;
  });
  const plan = await planExperiment(config, { ...experiment, arms });
  expect(plan.unmatched).toEqual(
    ['signals - random', 'signals - none'].flatMap((contrast) => [
      { contrast, measure: 'environmentAttempts', found: 0.5, allowed: 0 },
      { contrast, measure: 'rolloutTokens', found: 0.5, allowed: 0.3 },
    ]),
  );
  expect(planText(plan)).toContain('  signals - random: environmentAttempts 50 %, allowed 0 %');
});

test('a plan says which difference of the primary contrast every look finds', async () => {
  const experiment = await readExperiment(path.resolve(smoke, '../signals-sql.yaml'), { profile: 'thorough' });
  const plan = await planExperiment(config, experiment);
  expect(plan.power?.detectable.map(({ deviation }) => deviation)).toEqual([0.025, 0.01, 0.04]);
  expect(planText(plan)).toContain(
    'detectable (80 % power): 5.0 points with 8 seeds (2.7 to 7.6), 3.2 points with 16 seeds (1.7 to 4.8), ' +
      'if runs deviate by 2.5 points (1.0 to 4.0)',
  );
  expect(planText(plan)).toMatch(
    /^equivalence within 3.0 points is shown, if nothing differs: \d+ % with 8 seeds \(\d+ % to \d+ %\), \d+ % with 16 seeds/m,
  );
  const power = await planDetectable(config, { ...experiment, looks: [2] }, 10);
  expect(planText({ ...plan, power })).toContain('detectable (80 % power): nothing with 2 seeds (none to none)');
  const metric = { ...experiment.analysis, metric: 'success@pattern=join' };
  await expect(planDetectable(config, { ...experiment, analysis: metric }, 500)).resolves.toBeNull();
});

const published = (name: string): string => path.resolve(smoke, `../../../docs/experiments/archives/${name}.jsonl.br`);

testOfAll('the deviation of an earlier experiment replaces the prior; without one its table is refused', async () => {
  const experiment = await readExperiment(path.resolve(smoke, '../signals-sql.yaml'));
  const plan = await planExperiment(config, experiment, published('aa'));
  expect(plan.power?.measured).toMatchObject({ experiment: 'aa', contrast: 'again - signals', seeds: 8 });
  expect(planText(plan)).toContain(
    'detectable (80 % power): 1.2 points with 8 seeds (0.8 to 2.5), ' +
      'if differences deviate by 1.1 points (0.7 to 2.2), as again - signals of aa over 8 seeds',
  );
  await expect(planExperiment(config, experiment, published('graded-failures-control'))).rejects.toThrow(
    '--measured: co-evolving - matched of graded-failures-control is equivalent and has no deviation',
  );
  const measured = { ...plan.power!.measured!, metric: 'reward' };
  await expect(planDetectable(config, experiment, 500, measured)).rejects.toThrow(
    '--measured: found the metric reward, expected success',
  );
});

test('a pool that grows lengthens training by epochs, so its arm is not matched with one whose pool does not', async () => {
  const experiment = await readExperiment(smoke);
  const arms = experiment.arms.map((arm) => {
    const target = { epochs: 2, updates: null };
    return { ...arm, spec: { ...arm.spec, training: { ...(arm.spec['training'] as object), target } } };
  });
  const match = { ...experiment.match, equal: ['updates' as const], within: {} };
  const analysis = { ...experiment.analysis, metric: 'reward' }; // starts no process for the power
  const plan = await planExperiment(config, { ...experiment, arms, match, analysis });
  expect(plan.unmatched).toEqual([{ contrast: 'signals - none', measure: 'updates', found: null, allowed: 0 }]);
  expect(planText(plan)).toContain('  signals - none: updates unknown: the pool of one arm grows');
});
