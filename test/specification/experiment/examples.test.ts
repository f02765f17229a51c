import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { planExperiment } from '../../../src/client/experiments/plan-experiment';
import { readConfig } from '../../../src/config';
import { cellsOf } from '../../../src/domain/experiment/experiment';
import { cellSpec } from '../../../src/specification/experiment/cell-spec';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';

const folder = path.resolve(__dirname, '../../../examples/experiments');
const config = readConfig({ COEVOLVE_HOME: '/nonexistent', COEVOLVE_DEVICES: '1x80GiB' }); // no probe of a CPU
const profilesOf = (file: string): string[] =>
  Object.keys((parse(readFileSync(path.join(folder, file), 'utf8')) as { profiles?: object }).profiles ?? {});

const all = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((file) => ['default', ...profilesOf(file)].map((profile) => ({ file, profile })));

test.each(all)(
  '$file with the profile $profile is an experiment, its cells are campaigns, and the estimate finds equal effort',
  async ({ file, profile }) => {
    const experiment = await readExperiment(path.join(folder, file), { profile });
    const first = cellsOf(experiment.arms, 1);
    expect(first.map((cell) => cellSpec(experiment, cell).name)).toEqual(
      experiment.arms.map(({ name }) => `${experiment.name}-${name}-s1`),
    );
    const quick = { ...experiment.analysis, metric: 'reward' }; // power has no prior for it, and starts no process
    await expect(planExperiment(config, { ...experiment, analysis: quick })).resolves.toMatchObject({ unmatched: [] });
  },
);
