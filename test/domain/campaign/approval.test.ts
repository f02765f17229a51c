import { tasksNeedApproval, awaitsApproval } from '../../../src/domain/campaign/approval';

test('a campaign that parked for approval can be approved', () => {
  expect(awaitsApproval(tasksNeedApproval('demo', 2, 7))).toBe(true);
});

test.each([null, 'provider "scripted" does not answer', 'the budget of 1000 tokens is reached'])(
  'a campaign cannot be approved if it is not parked or has another reason: %s',
  (parked) => {
    expect(awaitsApproval(parked)).toBe(false);
  },
);
