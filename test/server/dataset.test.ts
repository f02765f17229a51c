import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportDataset } from '../../src/training/data/export-dataset';
import type { NewCampaign } from '../store/support/new-campaign';
import type { TestServer } from './running-server';
import { serveCampaign } from './served-campaign';

let campaign: NewCampaign;
let server: TestServer;
beforeAll(async () => {
  const served = await serveCampaign();
  ({ campaign, server } = served);
  return served.close;
});

test.each(['trl-dpo', 'trl-sft'] as const)('the dataset %s has the bytes of its export', async (format) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-dataset-'));
  try {
    const output = path.join(folder, 'dataset.jsonl');
    const request = { campaign: campaign.name, format, role: 'target' as const, iteration: null, output };
    const { rows } = await exportDataset(campaign.store, campaign.pool, request);
    const response = await server.request(`/api/v1/campaigns/${campaign.name}/datasets/${format}`);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const text = await response.text();
    expect(text).toBe(readFileSync(output, 'utf8'));
    expect(text.split('\n')).toHaveLength(rows + 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a dataset without examples is not found', async () => {
  const response = await server.request(`/api/v1/campaigns/${campaign.name}/datasets/trl-dpo?iteration=99`);
  expect([response.status, await response.json()]).toMatchObject([404, { code: 'NothingToExport' }]);
});
