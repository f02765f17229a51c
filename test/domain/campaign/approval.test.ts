import { tasksNeedApproval, awaitsApproval } from '../../../src/domain/campaign/approval';

test('a campaign that parked for approval can be approved', () => {
  expect(awaitsApproval(tasksNeedApproval('grown', 2, 7))).toBe(true);
});

test.each([null, 'provider "scripted" does not answer', 'the budget of 1000 tokens is reached'])(
  'one that is not, or that parked for another reason, cannot: %s',
  (parked) => {
    expect(awaitsApproval(parked)).toBe(false);
  },
);
