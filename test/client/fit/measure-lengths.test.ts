import { checkedLengths } from '../../../src/client/fit/checked-lengths';
import { measureLengths } from '../../../src/client/fit/measure-lengths';
import { recordedLengths } from '../../../src/client/fit/recorded-lengths';
import { fitLengths } from '../../../src/client/fit/fit-lengths';
import { readConfig } from '../../../src/config';
import { estimate } from '../../../src/specification/estimate';
import { measuredTraining } from '../../../src/specification/estimate-training';
import { resolveSpec } from '../../../src/specification/read-spec';
import { readSpecFile } from '../../../src/specification/read-spec-file';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

let server: EnvironmentServer;
beforeAll(async () => {
  server = await startEnvironmentServer('--environments', 'intercode-sql,bfcl');
});
afterAll(() => server.kill());

const specOf = (environment: object, policy: object = {}) =>
  resolveSpec({ name: 'lengths', seed: 1, recipe: 'rft', environment, policy }, 'lengths.yaml');
const measure = (...given: Parameters<typeof specOf>) =>
  measureLengths({ ...readConfig(), environment: server }, specOf(...given));

test("the quickstart's reference actions have the tokens of its training jobs, within a tenth", async () => {
  const spec = await readSpecFile('examples/quickstart.yaml', {});
  const lengths = await measureLengths({ ...readConfig(), environment: server }, spec);
  expect(lengths).toMatchObject({ trajectories: 20 });
  expect(lengths!.mean / measuredTraining.tokensPerTrajectory).toBeGreaterThan(0.9);
  expect(lengths!.mean / measuredTraining.tokensPerTrajectory).toBeLessThan(1.1);
});

test('prompts with functions of 20 kB count, and the estimate names the range', async () => {
  const environment = { name: 'bfcl', trainTasks: 20, heldOutTasks: 10 };
  const imported = { source: 'imported', model: 'm' };
  const lengths = (await measure(environment, imported))!;
  expect(lengths.min).toBeGreaterThan(2000);
  const { training, tokens, attempts } = estimate(specOf(environment, imported), lengths);
  expect(tokens).toBe(attempts * lengths.mean);
  expect(training.assumptions).toContain(
    `${lengths.mean} tokens a trajectory (20 of the environment's own have ${lengths.min} to ${lengths.max}, at 3.3 characters a token)`,
  );
});

test.each(['intercode-sql', 'bfcl'])(
  'the recorded lengths of %s are those that are played, within 2 %%',
  async (name) => {
    const provider = { source: 'imported', model: 'm' };
    const { trajectories, ...played } = (await measure({ name }, provider))!;
    const recorded = recordedLengths(specOf({ name }, provider))!;
    expect(recorded.trajectories).toBe(trajectories);
    for (const key of ['mean', 'min', 'median', 'max'] as const)
      expect(Math.abs(recorded[key] / played[key] - 1)).toBeLessThan(0.02);
    expect(recorded.spread).toBeCloseTo(played.spread, 1);
  },
);

test('a checked environment has the lengths of a start, and the lowest values that a start accepts', async () => {
  const config = { ...readConfig(), environment: server };
  const spec = specOf({ name: 'bfcl' });
  const { rows, min, median, max } = (await measureLengths(config, spec))!;
  const { fitting, ...found } = (await checkedLengths(config, 'bfcl', {}))!;
  expect(found).toMatchObject({ trajectories: 20, min, median, max });
  expect(rows!.filter(({ tokens }) => tokens <= median).length).toBeGreaterThanOrEqual(10);
  expect(rows!.filter(({ tokens }) => tokens >= median).length).toBeGreaterThanOrEqual(10);
  const fits = { positions: fitting['training.init.maxPositions']!, context: null };
  const maxTokens = fitting['rollouts.maxTokens']!;
  const enough = { ...spec, rollouts: { ...spec.rollouts, maxTokens } };
  expect(fitLengths(enough, rows!, fits)).toEqual({ problems: [], warnings: [] });
  expect(fitLengths(spec, rows!, { ...fits, positions: 512 }).problems.join()).toContain(`at least ${fits.positions},`);
});

test('an environment that is unknown, or rejects the options, has no lengths', async () => {
  const config = { ...readConfig(), environment: server };
  expect(await checkedLengths(config, 'nowhere', {})).toBeNull();
  expect(await checkedLengths(config, 'bfcl', { categories: ['none'] })).toBeNull();
});

test.each([
  ['no server', {}],
  ['a server that does not answer', { url: 'http://127.0.0.1:9' }],
])(
  '%s measures nothing, and the estimate says what it assumes',
  async (_name, environment) => {
    const spec = specOf({ name: 'intercode-sql' });
    const lengths = await measureLengths({ ...readConfig(), environment }, spec);
    expect(lengths).toBeNull();
    expect(estimate(spec, lengths).training.assumptions).toContain('105 tokens a trajectory (that of short SQL tasks');
  },
  60_000,
);
