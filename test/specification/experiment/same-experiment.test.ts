import path from 'node:path';
import { readTable } from '../../../src/client/experiments/read-table';
import type { Experiment } from '../../../src/domain/experiment/experiment';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';
import { experimentHash, isSameExperiment } from '../../../src/specification/experiment/same-experiment';
import { runsAll } from '../../support/lane';
import { ofEarlierRelease } from '../../support/frozen-experiment';

const root = path.resolve(__dirname, '../../..');
const fileOf = (name: string): Promise<Experiment> => readExperiment(`${root}/examples/experiments/${name}.yaml`);

test('an experiment of an earlier release, without keys that were added since, is the same', async () => {
  const now = await fileOf('smoke');
  const before = ofEarlierRelease(now);
  expect(experimentHash(before)).not.toBe(experimentHash(now));
  expect(isSameExperiment(before, now)).toBe(true);
  const [arm, ...arms] = before.arms;
  const changed = { ...before, arms: [{ ...arm!, spec: { ...arm!.spec, iterations: 9 } }, ...arms] };
  expect(isSameExperiment(changed, now)).toBe(false);
  expect(isSameExperiment({ ...before, looks: [3] }, now)).toBe(false);
});

test('a file without bounds of effort is the one that release 0.1.0 froze with its default bounds', async () => {
  const now = await fileOf('smoke');
  const withBounds = (share: number): Experiment => {
    const within = { trainedTokens: share, rolloutTokens: share };
    return { ...now, match: { ...now.match, within } };
  };
  expect(isSameExperiment(withBounds(0.05), withBounds(0.2))).toBe(true);
  expect(isSameExperiment(withBounds(0.05), withBounds(0.1))).toBe(false);
  expect(isSameExperiment(withBounds(0.2), withBounds(0.05))).toBe(true);
});

const names = [
  'aa',
  'co-evolving-agents',
  'co-evolving-agents-even',
  'graded-failures',
  'graded-failures-even',
  'graded-failures-control',
  'reinforcement',
  'signals-sql',
  'smollm2-harm',
  'weak-region',
];

test.each(runsAll ? names : ['aa'])(
  'the file of the published experiment %s is the one that was frozen, so its table can be imported and its cells rerun',
  async (name) => {
    const published = await readTable(`${root}/docs/experiments/archives/${name}.jsonl.br`);
    expect(isSameExperiment(published.experiment, await fileOf(name))).toBe(true);
  },
);
