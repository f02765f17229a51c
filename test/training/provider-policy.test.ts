import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { servedBy } from '../../src/artifacts/served-policy';
import { providerPolicy } from '../../src/training/provider-policy';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-provider-policy-'));
});
afterEach(() => rmSync(root, { recursive: true }));

test("a provider's model is a policy of one id, and another model or another provider is another policy", async () => {
  const artifacts = artifactStore(root);
  const model = { provider: 'somewhere', model: 'm-1' };
  const ids: string[] = [];
  for (const one of [model, model, { ...model, model: 'm-2' }, { ...model, provider: 'elsewhere' }])
    ids.push(await providerPolicy(artifacts, one));
  expect(ids[0]).toBe(ids[1]);
  expect(new Set(ids).size).toBe(3);
  await expect(servedBy(artifacts, ids[0]!)).resolves.toEqual(model);
});
