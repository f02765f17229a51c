import { promotionNeedsApproval, tasksNeedApproval } from '../../../src/domain/campaign/approval';

test('the reason to wait for tasks contains the commands that show and admit them', () => {
  const reason = tasksNeedApproval('demo', 2, 7);
  expect(reason).toContain('7 tasks of iteration 2');
  expect(reason).toContain('`coevolve tasks demo --verdict candidate`');
  expect(reason).toContain('`coevolve approve demo`');
});

test('the reason to wait for a promotion contains the commands of both decisions', () => {
  const reason = promotionNeedsApproval('demo', 2, 'gain 0.02');
  expect(reason).toContain('iteration 2');
  expect(reason).toContain('(gain 0.02)');
  for (const command of ['report demo', 'approve demo', 'approve demo --keep'])
    expect(reason).toContain(`\`coevolve ${command}\``);
});
