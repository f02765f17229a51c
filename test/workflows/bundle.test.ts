import { bundleOf, silenceWorkers } from '../support/temporal';

let modules: string[];
let code: string;

beforeAll(async () => {
  silenceWorkers();
  ({ code } = await bundleOf());
  // webpack names each module in the comment or key before it
  modules = [...code.matchAll(/["'](\.\/[^"'\n]+\.(?:ts|js|mjs|cjs))["']/g)].map((match) => match[1]!);
});

test('the workflow code bundles to less than 2.5 MB', () => {
  expect(code.length).toBeGreaterThan(100_000);
  expect(code.length).toBeLessThan(2_500_000);
});

test('it holds the workflows and the domain', () => {
  const own = modules.filter((name) => name.startsWith('./src/'));
  expect(own).toEqual(expect.arrayContaining(['./src/workflows/campaign/campaign.ts', './src/domain/campaign/ids.ts']));
});

test('it holds no activity, nothing that does I/O, and no schema library', () => {
  const places = ['./src/workflows/', './src/domain/', './node_modules/@temporalio/', './node_modules/'];
  const strangers = modules.filter(
    (name) => name.startsWith('./src/') && !places.some((place) => name.startsWith(place)),
  );
  expect(strangers).toEqual([]);
  const packages = new Set(modules.flatMap((name) => /^\.\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []));
  for (const forbidden of [
    'pg',
    'zod',
    'openai',
    'ws',
    '@temporalio/activity',
    '@temporalio/client',
    '@temporalio/worker',
  ])
    expect(packages).not.toContain(forbidden);
});
