import { fairnessOf, readCampaignMemo } from '../../../src/domain/campaign/memo';

test.each([
  [
    { recovery: 'fast', weight: 2, other: 'x' },
    { recovery: 'fast', weight: 2 },
  ],
  [
    { recovery: 'default', weight: 0.5 },
    { recovery: 'default', weight: 0.5 },
  ],
  [
    { recovery: 'default', weight: 1, campaignId: 7, pageUrl: 'http://127.0.0.1:8' },
    { recovery: 'default', weight: 1, campaignId: 7, pageUrl: 'http://127.0.0.1:8' },
  ],
  [{ recovery: 'slow', weight: 2 }, undefined],
  [{ recovery: 'fast', weight: '2' }, undefined],
  [{ recovery: 'fast', weight: 0 }, undefined],
  [{}, undefined],
  [undefined, undefined],
])('the memo %j is read as %j', (memo, expected) => {
  expect(readCampaignMemo(memo)).toEqual(expected);
});

test.each([
  ['campaign/demo', 'demo'],
  ['campaign/demo/iteration/2/train/target', 'demo'],
  ['other', 'other'],
  [`campaign/${'n'.repeat(70)}`, 'n'.repeat(64)],
])('the workflow %s is scheduled under the key %s with its weight', (workflowId, fairnessKey) => {
  expect(fairnessOf(workflowId, 3)).toEqual({ fairnessKey, fairnessWeight: 3 });
});
