import { bundleOf, silenceWorkers } from '../support/temporal';

let modules: string[];
let code: string;

beforeAll(async () => {
  await silenceWorkers();
  ({ code } = await bundleOf());
  // webpack names each module in the comment or key before it
  modules = [...code.matchAll(/["'](\.\/[^"'\n]+\.(?:ts|js|mjs|cjs))["']/g)].map((match) => match[1]!);
});

test('the workflow code bundles to less than 2.5 MB', () => {
  expect(code.length).toBeGreaterThan(100_000);
  expect(code.length).toBeLessThan(2_500_000);
});

test('the bundle contains the workflows and the domain', () => {
  const ours = modules.filter((name) => name.startsWith('./src/'));
  expect(ours).toEqual(
    expect.arrayContaining(['./src/workflows/campaign/campaign.ts', './src/domain/campaign/ids.ts']),
  );
});

test('the bundle contains no activity, no module with I/O and no schema library', () => {
  const allowed = ['./src/workflows/', './src/domain/'];
  const unexpected = modules.filter(
    (name) => name.startsWith('./src/') && !allowed.some((folder) => name.startsWith(folder)),
  );
  expect(unexpected).toEqual([]);
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
