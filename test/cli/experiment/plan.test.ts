import path from 'node:path';
import { planText } from '../../../src/cli/experiment/plan-text';
import { planExperiment } from '../../../src/client/experiments/plan-experiment';
import { readConfig } from '../../../src/config';
import { readExperiment } from '../../../src/spec/experiment/read-experiment';

const smoke = path.resolve(__dirname, '../../../examples/experiments/smoke.yaml');
const config = readConfig({ COEVOLVE_HOME: '/nonexistent' });

test('a plan begins with the size, and lists every arm by its differences', async () => {
  const text = planText(await planExperiment(config, await readExperiment(smoke)));
  expect(text).toMatch(/^smoke: 3 arms x 2 seeds = 6 cells, .* on two cores, \$0\.00\n/);
  expect(text).toContain('\nrandom: synthesis.aims=random, synthesis.match=signals\n');
  expect(text).toContain('matched: the estimates keep all rules of effort');
});

test('a plan names the rules that arms of a contrast break', async () => {
  const experiment = await readExperiment(smoke);
  const arms = experiment.arms.map((arm) => {
    const rollouts = arm.spec['rollouts'] as object;
    return arm.name === 'signals' ? { ...arm, spec: { ...arm.spec, rollouts: { ...rollouts, attempts: 4 } } } : arm;
  });
  const plan = await planExperiment(config, { ...experiment, arms });
  expect(plan.unmatched).toEqual([
    { contrast: 'signals - random', measure: 'environmentAttempts', found: 0.5, allowed: 0 },
    { contrast: 'signals - none', measure: 'environmentAttempts', found: 0.5, allowed: 0 },
  ]);
  expect(planText(plan)).toContain('  signals - random: environmentAttempts 50 %, allowed 0 %');
});
