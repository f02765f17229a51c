import * as fc from 'fast-check';
import { faultNames, faultPlan, faultText, killShares, type FaultName } from '../../../tools/chaos/fault-plan';

const targets = Object.keys(killShares) as FaultName[];

test('the plan is a pure function of seed, kills and faults', () => {
  expect(faultPlan(7, 200)).toEqual(faultPlan(7, 200));
  expect(faultPlan(7, 200)).not.toEqual(faultPlan(8, 200));
  expect(faultPlan(7, 300).slice(0, 150)).toEqual(faultPlan(7, 200).slice(0, 150));
});

test('a plan has the requested number of kills and only allowed faults', () => {
  fc.assert(
    fc.property(
      fc.nat(2 ** 31 - 1),
      fc.nat(300),
      fc.subarray([...faultNames]).filter((names) => names.some((name) => targets.includes(name))),
      (seed, kills, names) => {
        const plan = faultPlan(seed, kills, names);
        expect(plan.filter(({ kind }) => kind === 'kill')).toHaveLength(kills);
        for (const fault of plan) expect(names).toContain(fault.kind === 'kill' ? fault.target : fault.kind);
      },
    ),
  );
});

test('a thousand kills contain 100 restarts of Postgres and 50 kills of Temporal, within 25 %', () => {
  const killed = faultPlan(1, 1000).flatMap((fault) => (fault.kind === 'kill' ? [fault.target] : []));
  const postgres = killed.filter((target) => target === 'postgres' || target === 'postmaster').length;
  const temporal = killed.filter((target) => target === 'temporal').length;
  expect([postgres > 75, postgres < 125, temporal > 37, temporal < 63]).toEqual([true, true, true, true]);
});

test('a fault is formatted as a short text', () => {
  expect(faultText({ kind: 'kill', target: 'trainer', afterMs: 12, overlaps: false })).toBe('trainer+12');
  expect(faultText({ kind: 'kill', target: 'temporal', afterMs: 7, overlaps: true })).toBe('temporal+7&');
  expect(faultText({ kind: 'delay', target: 'temporal', afterMs: 3, forMs: 500, byMs: 40 })).toBe(
    'delay temporal by 40 for 500+3',
  );
  expect(faultText({ kind: 'fill', afterMs: 3, forMs: 500 })).toBe('fill for 500+3');
});
